//go:build windows

package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"
)

// The first fields of SYSTEM_PROCESS_INFORMATION.
type process struct {
	next      uint32
	threads   uint32
	_         [48]byte
	nameBytes uint16
	_         uint16
	name      *uint16
	priority  int32
	id        uintptr
	parent    uintptr
	handles   uint32
	session   uint32
}

// Like x/sys/windows/svc, which detects whether a program runs as a service.
func servicesInSessionZero(string) error {
	const systemProcessInformation = 5
	query := syscall.NewLazyDLL("ntdll.dll").NewProc("NtQuerySystemInformation")
	buffer := make([]byte, 1<<20)
	var length uint32
	status, _, _ := query.Call(systemProcessInformation, uintptr(unsafe.Pointer(&buffer[0])),
		uintptr(len(buffer)), uintptr(unsafe.Pointer(&length)))
	if status != 0 {
		return fmt.Errorf("status %x", status)
	}
	for offset := uint32(0); ; {
		p := (*process)(unsafe.Pointer(&buffer[offset]))
		if p.name != nil {
			name := syscall.UTF16ToString(unsafe.Slice(p.name, p.nameBytes/2))
			if strings.EqualFold(name, "services.exe") {
				if p.session != 0 {
					return fmt.Errorf("services.exe is in session %d instead of 0", p.session)
				}
				return nil
			}
		}
		if p.next == 0 {
			return errors.New("services.exe not found")
		}
		offset += p.next
	}
}
