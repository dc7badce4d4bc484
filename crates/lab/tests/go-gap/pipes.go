//go:build windows

package main

import (
	"fmt"
	"syscall"
	"unsafe"
)

type unicodeString struct {
	length, maximum uint16
	buffer          *uint16
}

type objectAttributes struct {
	length     uintptr
	root       uintptr
	name       *unicodeString
	attributes uintptr
	security   uintptr
	quality    uintptr
}

// Like go-winio, which reserves the name of a pipe with an instance without data
// access, to which no client can connect.
func pipeNameHolder(string) error {
	const (
		synchronize     = 0x00100000
		shareReadWrite  = 3
		create          = 2
		caseInsensitive = 0x40
		pipeBusy        = syscall.Errno(231)
	)
	path, err := syscall.UTF16FromString(`\??\pipe\gap-holder`)
	if err != nil {
		return err
	}
	size := uint16(2 * (len(path) - 1))
	name := unicodeString{size, size, &path[0]}
	object := objectAttributes{name: &name, attributes: caseInsensitive}
	object.length = unsafe.Sizeof(object)
	var handle syscall.Handle
	var status [2]uintptr
	timeout := int64(-500000)
	result, _, _ := syscall.NewLazyDLL("ntdll.dll").NewProc("NtCreateNamedPipeFile").Call(
		uintptr(unsafe.Pointer(&handle)), synchronize, uintptr(unsafe.Pointer(&object)),
		uintptr(unsafe.Pointer(&status)), shareReadWrite, create, 0, 0, 0, 0,
		0xffffffff, 0, 0, uintptr(unsafe.Pointer(&timeout)))
	if result != 0 {
		return fmt.Errorf("could not create the pipe: %x", result)
	}
	defer syscall.CloseHandle(handle)
	client, err := syscall.CreateFile(syscall.StringToUTF16Ptr(`\\.\pipe\gap-holder`),
		syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_EXISTING, 0, 0)
	if err == nil {
		_ = syscall.CloseHandle(client)
	}
	if err != pipeBusy {
		return fmt.Errorf("a client got %v instead of %v", err, pipeBusy)
	}
	return nil
}
