//go:build windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

func serveEcho(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	return listener, nil
}

func ping(path, text string) error {
	conn, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		return err
	}
	answer := make([]byte, len(text))
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if string(answer) != text {
		return fmt.Errorf("got %q for %q", answer, text)
	}
	return nil
}

// Many concurrent connections, and one that stays open meanwhile.
func socketEcho(folder string) error {
	path := filepath.Join(folder, "echo.sock")
	listener, err := serveEcho(path)
	if err != nil {
		return err
	}
	defer listener.Close()
	long, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer long.Close()
	var wait sync.WaitGroup
	results := make(chan error, 50)
	for i := range 50 {
		wait.Go(func() { results <- ping(path, fmt.Sprintf("hello %d", i)) })
	}
	wait.Wait()
	close(results)
	for err := range results {
		if err != nil {
			return err
		}
	}
	if _, err := long.Write([]byte("still here")); err != nil {
		return err
	}
	answer := make([]byte, 10)
	if _, err := io.ReadFull(long, answer); err != nil || string(answer) != "still here" {
		return fmt.Errorf("long-lived connection: %q, %v", answer, err)
	}
	return nil
}

func socketNames(folder string) error {
	path := filepath.Join(folder, "name.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer listener.Close()
	if got := listener.Addr().String(); got != path {
		return fmt.Errorf("listener is named %q", got)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if got := conn.RemoteAddr().String(); got != path {
		return fmt.Errorf("peer is named %q", got)
	}
	accepted, err := listener.Accept()
	if err != nil {
		return err
	}
	defer accepted.Close()
	if accepted.LocalAddr() == nil || accepted.LocalAddr().String() != path {
		return fmt.Errorf("accepted connection is named %v", accepted.LocalAddr())
	}
	if accepted.RemoteAddr() == nil {
		return errors.New("accepted connection has no peer address")
	}
	return nil
}

func socketAgain(folder string) error {
	path := filepath.Join(folder, "again.sock")
	for range 3 {
		listener, err := serveEcho(path)
		if err != nil {
			return err
		}
		if err := ping(path, "again"); err != nil {
			return err
		}
		if err := listener.Close(); err != nil {
			return err
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			return fmt.Errorf("the socket file still exists after close: %v", err)
		}
	}
	stale, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := isSocket(path); err != nil {
		return err
	}
	if err := stale.Close(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	listener, err := serveEcho(path)
	if err != nil {
		return err
	}
	defer listener.Close()
	return ping(path, "after remove")
}

func socketRefusals(folder string) error {
	missing := filepath.Join(folder, "missing.sock")
	if err := ping(missing, "x"); err == nil {
		return errors.New("dialed a missing socket")
	}
	plain := filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, []byte("no socket"), 0o600); err != nil {
		return err
	}
	if err := ping(plain, "x"); err == nil {
		return errors.New("dialed a plain file")
	}
	if listener, err := net.Listen("unix", plain); err == nil {
		listener.Close()
		return errors.New("listened over an existing file")
	}
	if listener, err := net.Listen("unix", filepath.Join(folder, "no", "x.sock")); err == nil {
		listener.Close()
		return errors.New("listened in a missing directory")
	}
	return nil
}

func socketHTTP(folder string) error {
	path := filepath.Join(folder, "http.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "over "+r.URL.Path)
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://unix/path")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || string(body) != "over /path" {
		return fmt.Errorf("got %q, %v", body, err)
	}
	return nil
}

// Checks the mode from stat and from a listing, by which the kubelet finds stale
// sockets.
func isSocket(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 || len(entries) != 1 || entries[0].Type() != os.ModeSocket {
		return fmt.Errorf("the socket file has mode %v; directory: %v", info.Mode(), entries)
	}
	return nil
}
