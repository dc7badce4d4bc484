//go:build windows

package main

import (
	"errors"
	"net"
	"os"
	"slices"
)

// Checks the adapters of the host and the vSwitch under their Windows names;
// GAP_INTERFACES=no disables the check.
func interfaces(string) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	if os.Getenv("GAP_INTERFACES") == "no" {
		return nil
	}
	for _, name := range []string{"Ethernet", "vEthernet (Ethernet)"} {
		at := slices.IndexFunc(all, func(i net.Interface) bool { return i.Name == name })
		if at < 0 {
			return errors.New("no interface " + name)
		}
		addresses, err := all[at].Addrs()
		if err != nil || len(addresses) == 0 {
			return errors.New("no address on " + name)
		}
	}
	return nil
}
