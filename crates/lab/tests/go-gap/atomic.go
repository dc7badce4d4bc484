//go:build windows

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// As the kubelet writes a projected volume on Windows: a folder with a time
// stamp, the link `..data` to it, and a link through `..data` per file.
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
	// The stamped folder, `..data`, two links.
	if len(entries) != 4 {
		return fmt.Errorf("the volume has %v", entries)
	}
	return nil
}

func project(folder string, payload map[string]string) error {
	data, next := filepath.Join(folder, "..data"), filepath.Join(folder, "..data_tmp")
	old, err := os.Readlink(data)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	stamped, err := os.MkdirTemp(folder, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return err
	}
	if err := os.Chmod(stamped, 0o755); err != nil {
		return err
	}
	for name, text := range payload {
		path := filepath.Join(stamped, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), write(path, text), os.Chmod(path, 0o644)); err != nil {
			return err
		}
	}
	name := filepath.Base(stamped)
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
	return errors.Join(show(folder, payload), retire(folder, old, payload))
}

// Links for what is new.
func show(folder string, payload map[string]string) error {
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

// Links of what is no more, and the last version.
func retire(folder, old string, payload map[string]string) error {
	if old == "" {
		return nil
	}
	kept := map[string]bool{}
	for name := range payload {
		kept[topOf(name)] = true
	}
	before, err := os.ReadDir(filepath.Join(folder, old))
	if err != nil {
		return err
	}
	for _, entry := range before {
		if !kept[entry.Name()] {
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
