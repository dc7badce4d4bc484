//go:build windows

// Command gap checks the functions that the lab's bcryptprimitives.dll and
// iphlpapi.dll provide to Go programs under Wine. It prints "ok NAME" or
// "FAIL NAME: reason" per check and exits with status 1 if a check failed.
package main

import (
	"fmt"
	"os"
)

type check struct {
	name string
	run  func(folder string) error
}

func main() {
	checks := []check{
		{"socket echo", socketEcho},
		{"socket names", socketNames},
		{"socket re-listen after remove", socketAgain},
		{"socket refusals", socketRefusals},
		{"http over socket", socketHTTP},
		{"link to file", linkToFile},
		{"link to folder", linkToFolder},
		{"dangling link", danglingLink},
		{"links in listing", linksInListing},
		{"certificate rotation", certificateRotation},
		{"atomic writer", atomicWriter},
		{"remove all", removeAll},
		{"holder of a pipe's name", pipeNameHolder},
		{"services in session 0", servicesInSessionZero},
		{"interfaces", interfaces},
	}
	failed := false
	for _, c := range checks {
		folder, err := os.MkdirTemp(`C:\windows\temp`, "gap")
		if err == nil {
			err = c.run(folder)
		}
		if err == nil {
			err = os.RemoveAll(folder)
		}
		if err != nil {
			failed = true
			fmt.Printf("FAIL %s: %v\n", c.name, err)
		} else {
			fmt.Printf("ok %s\n", c.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}
