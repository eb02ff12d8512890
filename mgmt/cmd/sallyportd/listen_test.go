// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sallyport/mgmt/internal/config"
)

// TestListen: the socket is for owner and group; one that a killed daemon left is replaced,
// anything else stays.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	c := config.Control{Path: config.Path{Name: path}}
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if _, err := listenControl(c); err == nil || !strings.Contains(err.Error(), "another daemon answers") {
		t.Errorf("beside another: %v", err)
	}
	left.Close()
	at, err := listenControl(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{path, strings.Replace(path, "c.sock", "c-api.sock", 1)} {
		if info, err := os.Stat(socket); err != nil || info.Mode() != fs.ModeSocket|0o660 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := at.close(); err != nil {
		t.Error(err)
	}
	mine, err := user.LookupGroupId(fmt.Sprint(os.Getgid()))
	if err != nil {
		t.Skip(err)
	}
	c.ReadGroup.Name = mine.Name
	if at, err = listenControl(c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c-read.sock", "c-api-read.sock"} {
		info, err := os.Stat(strings.Replace(path, "c.sock", name, 1))
		if err != nil || info.Mode() != fs.ModeSocket|0o660 || int(info.Sys().(*syscall.Stat_t).Gid) != os.Getgid() {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := at.close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenControl(c); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("over a file: %v", err)
	}
}
