// SPDX-License-Identifier: Apache-2.0

package mutual_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mutual"
)

// readers are the functions that read a file.
var readers = map[string]func(string) error{
	"certificate": func(path string) error { _, err := mutual.ReadCertificates(path); return err },
	"key":         func(path string) error { _, err := mutual.ReadServiceKey(path); return err },
}

// TestFiles: a pipe, a folder, a device, and a file that is too long or has no certificate are
// refused in a sentence, at once.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	certtest.Write(t, folder, "box", time.Hour)
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(name string, size int) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte{'\n'}, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		pipe:                          "it is no regular file",
		folder:                        "it is no regular file",
		"/dev/zero":                   "it is no regular file",
		filepath.Join(folder, "none"): "no such file or directory",
		write("most", 1<<20):          " in PEM form",
		write("long", 1<<20+1):        "it is longer than 1048576 bytes",
	} {
		for what, read := range readers {
			read := read
			said := make(chan error, 1)
			go func() { said <- read(path) }()
			select {
			case err := <-said:
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s as %s: %v", path, what, err)
				}
			case <-time.After(20 * time.Second):
				t.Errorf("%s as %s: the reader waits", path, what)
			}
		}
	}
}

// TestKeyOwner: a daemon's key that another user has, who is not root, is refused, and each whose
// mode gives it to everybody.
func TestKeyOwner(t *testing.T) {
	folder := t.TempDir()
	certtest.Write(t, folder, "box", time.Hour)
	path := filepath.Join(folder, "box.key")
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o604: true, 0o601: true, 0o602: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := mutual.ReadServiceKey(path); (err != nil) != refused || refused && !strings.Contains(err.Error(), "everybody may reach the key "+path) {
			t.Errorf("%04o: %v", mode, err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root gives a file away")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	want := "the key " + path + " belongs to the user 12345, who may read and change it: chown root " + path
	if _, err := mutual.ReadServiceKey(path); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := mutual.ReadKey(path); err != nil {
		t.Errorf("a client's, that root may use: %v", err)
	}
}
