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
		err = fmt.Errorf("%s has %q, not %q", path, content, text)
	}
	return err
}

func isLink(path, target string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is no link but %v", path, info.Mode())
	}
	got, err := os.Readlink(path)
	if err == nil && got != target {
		err = fmt.Errorf("%s leads to %q, not %q", path, got, target)
	}
	return err
}

func gone(path string) error {
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		return fmt.Errorf("%s is still there (%v)", path, err)
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
		os.Remove(absolute), os.Remove(relative), gone(absolute), gone(relative), contains(file, "changed"))
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
	return errors.Join(os.Remove(link), gone(link), contains(filepath.Join(real, "sub", "x"), "x"))
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
	return errors.Join(os.Remove(link), gone(link))
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
			return fmt.Errorf("%s has the type %v", entry.Name(), entry.Type())
		}
	}
	if len(entries) != len(want) {
		return fmt.Errorf("%d entries", len(entries))
	}
	return nil
}

// As client-go's certificate store does: each new certificate is a file, the
// link to it is made under another name and renamed over the current one.
func certificateRotation(folder string) error {
	current, updated := filepath.Join(folder, "kubelet-client-current.pem"), filepath.Join(folder, "kubelet-client-updated.pem")
	for i := range 3 {
		name := filepath.Join(folder, fmt.Sprintf("kubelet-client-%d.pem", i))
		text := fmt.Sprintf("certificate %d", i)
		if err := errors.Join(write(name, text), os.Symlink(name, updated), isLink(updated, name),
			os.Rename(updated, current), gone(updated), isLink(current, name), contains(current, text)); err != nil {
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
		os.RemoveAll(volume), gone(volume), contains(filepath.Join(keep, "precious"), "x"))
}
