// Reads CNI lists as a container runtime does, with the CNI library's own code,
// and fails on the first that it does not take.
package main

import (
	"fmt"
	"os"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func check(path string) error {
	list, err := libcni.ConfListFromFile(path)
	if err != nil {
		return err
	}
	if err := utils.ValidateNetworkName(list.Name); err != nil {
		return err
	}
	known := false
	for _, supported := range version.All.SupportedVersions() {
		known = known || supported == list.CNIVersion
	}
	if !known {
		return fmt.Errorf("cniVersion %q is not known", list.CNIVersion)
	}
	for _, plugin := range list.Plugins {
		fmt.Printf("%s %s %s\n", list.Name, list.CNIVersion, plugin.Network.Type)
	}
	return nil
}
