//go:build windows

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Writes a projected volume like the kubelet on Windows: a timestamped directory,
// the symlink `..data` to it, and a symlink through `..data` per file.
func atomicWriter(folder string) error {
	versions := []map[string]string{
		{"token": "one", "ca.crt": "ca", "nested/a": "a"},
		{"token": "two", "ca.crt": "ca", "nested/a": "a"},
		{"token": "three", "ca.crt": "ca"},
	}
	for _, payload := range versions {
		if err := project(folder, payload); err != nil {
			return err
		}
		for name, text := range payload {
			if err := contains(filepath.Join(folder, filepath.FromSlash(name)), text); err != nil {
				return err
			}
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "nested")); !os.IsNotExist(err) {
		return fmt.Errorf("a removed file is still visible (%v)", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	// The timestamped directory, `..data` and two symlinks.
	if len(entries) != 4 {
		return fmt.Errorf("the volume contains %v", entries)
	}
	return nil
}

func project(folder string, payload map[string]string) error {
	data, next := filepath.Join(folder, "..data"), filepath.Join(folder, "..data_tmp")
	old, err := os.Readlink(data)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	versionDir, err := os.MkdirTemp(folder, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return err
	}
	if err := os.Chmod(versionDir, 0o755); err != nil {
		return err
	}
	for name, text := range payload {
		path := filepath.Join(versionDir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), write(path, text), os.Chmod(path, 0o644)); err != nil {
			return err
		}
	}
	name := filepath.Base(versionDir)
	if err := os.Symlink(name, next); err != nil {
		return err
	}
	if old != "" {
		if err := os.Remove(data); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Symlink(name, data), os.Remove(next)); err != nil {
		return err
	}
	return errors.Join(addLinks(folder, payload), removeOld(folder, old, payload))
}

// Creates symlinks for new files.
func addLinks(folder string, payload map[string]string) error {
	for name := range payload {
		top := topOf(name)
		if _, err := os.Readlink(filepath.Join(folder, top)); os.IsNotExist(err) {
			err = os.Symlink(filepath.Join("..data", top), filepath.Join(folder, top))
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Removes symlinks of deleted files and the previous version.
func removeOld(folder, old string, payload map[string]string) error {
	if old == "" {
		return nil
	}
	current := map[string]bool{}
	for name := range payload {
		current[topOf(name)] = true
	}
	before, err := os.ReadDir(filepath.Join(folder, old))
	if err != nil {
		return err
	}
	for _, entry := range before {
		if !current[entry.Name()] {
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(filepath.Join(folder, old))
}

func topOf(name string) string {
	for i := range name {
		if name[i] == '/' {
			return name[:i]
		}
	}
	return name
}
