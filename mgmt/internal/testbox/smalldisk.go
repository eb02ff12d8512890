// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// onDisk tells a test that it runs in a mount namespace of its own.
const onDisk = "SALLYPORT_TEST_ON_DISK"

// OnDisk runs the test that calls it once more, in a mount namespace of its own, and with rights to
// mount there; that needs no rights outside. False in the first process, which has nothing more to
// do.
func OnDisk(t *testing.T) (inside bool) {
	t.Helper()
	if os.Getenv(onDisk) != "" {
		return true
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), onDisk+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	output, err := again.CombinedOutput()
	switch {
	case len(output) == 0:
		t.Skipf("this machine gives no mount namespace: %v", err)
	case strings.Contains(string(output), "--- SKIP"):
		t.Skip(string(output))
	case err != nil:
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// Disk mounts a small disk, of so many bytes, until the end of the test.
func Disk(t *testing.T, size string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("this machine mounts no disks: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	return folder
}

// Fill writes a file until the disk of a folder is full, and gives its path.
func Fill(t *testing.T, folder string) (path string) {
	t.Helper()
	path = filepath.Join(folder, "filler")
	Refill(t, path)
	return path
}

// Refill writes on behind the end of a file until its disk is full.
func Refill(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, size := range []int{1 << 16, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
}

// ReadOnly has a disk refuse changes from now on.
func ReadOnly(t *testing.T, folder string) {
	t.Helper()
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}
