// Loads CNI network configuration lists with the CNI library, as a container
// runtime does, and fails on the first invalid one.
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
		return fmt.Errorf("unsupported cniVersion %q", list.CNIVersion)
	}
	for _, plugin := range list.Plugins {
		fmt.Printf("%s %s %s\n", list.Name, list.CNIVersion, plugin.Network.Type)
	}
	return nil
}
