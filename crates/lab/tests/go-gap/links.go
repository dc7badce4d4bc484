//go:build windows

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }

func contains(path, text string) error {
	content, err := os.ReadFile(path)
	if err == nil && string(content) != text {
		err = fmt.Errorf("%s contains %q instead of %q", path, content, text)
	}
	return err
}

func isLink(path, target string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is not a symlink: %v", path, info.Mode())
	}
	got, err := os.Readlink(path)
	if err == nil && got != target {
		err = fmt.Errorf("%s points to %q instead of %q", path, got, target)
	}
	return err
}

func notExist(path string) error {
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		return fmt.Errorf("%s still exists (%v)", path, err)
	}
	return nil
}

func linkToFile(folder string) error {
	file, absolute, relative := filepath.Join(folder, "file"), filepath.Join(folder, "a"), filepath.Join(folder, "r")
	stat := func() error {
		info, err := os.Stat(absolute)
		if err == nil && (!info.Mode().IsRegular() || info.Size() != 7) {
			err = fmt.Errorf("stat of the link: %v, %d bytes", info.Mode(), info.Size())
		}
		return err
	}
	notLink := func() error {
		if _, err := os.Readlink(file); err == nil {
			return errors.New("read a plain file as a link")
		}
		return nil
	}
	return errors.Join(write(file, "content"), os.Symlink(file, absolute), os.Symlink("file", relative),
		isLink(absolute, file), isLink(relative, "file"), contains(absolute, "content"),
		contains(relative, "content"), stat(), notLink(),
		write(relative, "changed"), contains(file, "changed"),
		os.Remove(absolute), os.Remove(relative), notExist(absolute), notExist(relative), contains(file, "changed"))
}

func linkToFolder(folder string) error {
	real, link := filepath.Join(folder, "real"), filepath.Join(folder, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(real, "sub"), 0o755), write(filepath.Join(real, "sub", "x"), "x"),
		os.Symlink("real", link), isLink(link, "real"), contains(filepath.Join(link, "sub", "x"), "x")); err != nil {
		return err
	}
	info, err := os.Stat(link)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("stat of the link: %v, %v", info, err)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(link, "sub", "x"))
	if err != nil || resolved != filepath.Join(real, "sub", "x") {
		return fmt.Errorf("resolved to %q, %v", resolved, err)
	}
	return errors.Join(os.Remove(link), notExist(link), contains(filepath.Join(real, "sub", "x"), "x"))
}

func danglingLink(folder string) error {
	link := filepath.Join(folder, "link")
	if err := errors.Join(os.Symlink("nowhere", link), isLink(link, "nowhere")); err != nil {
		return err
	}
	if _, err := os.Stat(link); !os.IsNotExist(err) {
		return fmt.Errorf("stat gave %v", err)
	}
	if err := os.Symlink("elsewhere", link); !os.IsExist(err) {
		return fmt.Errorf("second link gave %v", err)
	}
	return errors.Join(os.Remove(link), notExist(link))
}

func linksInListing(folder string) error {
	if err := errors.Join(write(filepath.Join(folder, "file"), "x"), os.Mkdir(filepath.Join(folder, "folder"), 0o755),
		os.Symlink("file", filepath.Join(folder, "to-file")), os.Symlink("folder", filepath.Join(folder, "to-folder"))); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	want := map[string]fs.FileMode{"file": 0, "folder": fs.ModeDir, "to-file": fs.ModeSymlink, "to-folder": fs.ModeSymlink}
	for _, entry := range entries {
		if mode, known := want[entry.Name()]; !known || entry.Type() != mode {
			return fmt.Errorf("%s has type %v", entry.Name(), entry.Type())
		}
	}
	if len(entries) != len(want) {
		return fmt.Errorf("%d entries", len(entries))
	}
	return nil
}

// Like client-go's certificate store: each new certificate is a file, and a symlink to
// it is created under a temporary name and renamed over the current one.
func certificateRotation(folder string) error {
	current, updated := filepath.Join(folder, "kubelet-client-current.pem"), filepath.Join(folder, "kubelet-client-updated.pem")
	for i := range 3 {
		name := filepath.Join(folder, fmt.Sprintf("kubelet-client-%d.pem", i))
		text := fmt.Sprintf("certificate %d", i)
		if err := errors.Join(write(name, text), os.Symlink(name, updated), isLink(updated, name),
			os.Rename(updated, current), notExist(updated), isLink(current, name), contains(current, text)); err != nil {
			return err
		}
	}
	return contains(filepath.Join(folder, "kubelet-client-0.pem"), "certificate 0")
}

func removeAll(folder string) error {
	keep, volume := filepath.Join(folder, "keep"), filepath.Join(folder, "volume")
	return errors.Join(
		os.Mkdir(keep, 0o755), write(filepath.Join(keep, "precious"), "x"), os.Mkdir(volume, 0o755),
		os.Symlink(keep, filepath.Join(volume, "folder")),
		os.Symlink(filepath.Join(keep, "precious"), filepath.Join(volume, "file")),
		os.Symlink("folder", filepath.Join(volume, "again")),
		os.RemoveAll(volume), notExist(volume), contains(filepath.Join(keep, "precious"), "x"))
}
