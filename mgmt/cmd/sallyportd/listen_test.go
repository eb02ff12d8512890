// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
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
	listener, err := listenControl(c)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	listener.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenControl(c); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("over a file: %v", err)
	}
}
