// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/testbox"
)

// remoted says that the test's process is the daemon that clients reach over the network.
const remoted = "SALLYPORT_TEST_REMOTED"

// remotes is a daemon in a process of its own that clients reach over the network: "controller" may
// change the box, and "watcher" may ask alone.
type remotes struct {
	*testing.T
	dir, address string
	authority    *certtest.Authority
	process      *exec.Cmd
	log          testbox.Log
	ended        chan error
}

// isRemoted runs the daemon where the test's process is that.
func isRemoted() bool {
	path := os.Getenv(remoted)
	if path == "" {
		return false
	}
	root := newRoot()
	root.SetArgs([]string{"--config", path})
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	return true
}

// newRemotes makes the certificates, the configuration and the box of a daemon. Edits may change
// the listener of the box.
func newRemotes(t *testing.T, edits ...func(net.Listener) net.Listener) *remotes {
	t.Helper()
	r := &remotes{T: t, dir: t.TempDir()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r.address = listener.Addr().String()
	must(t, listener.Close())
	r.authority = certtest.NewAuthority(t, r.dir, "clients")
	certtest.NewAuthority(t, r.dir, "boxes").Sign(t, r.dir, "box-a")
	for _, name := range []string{"controller", "watcher"} {
		r.authority.Sign(t, r.dir, name)
	}
	registers, err := net.Listen("unix", r.file("box.sock"))
	must(t, err)
	t.Cleanup(func() { registers.Close() })
	for _, edit := range edits {
		registers = edit(registers)
	}
	go fakebox.New(fakebox.Small).Serve(registers)
	r.configure(`change = ["controller"]` + "\n" + `read = ["watcher"]`)
	return r
}

func (r *remotes) file(name string) string { return filepath.Join(r.dir, name) }

// configure writes the configuration, whose section [api] ends in some lines.
func (r *remotes) configure(lines string) {
	r.Helper()
	text := "registers = \"unix:FOLDER/box.sock\"\n[control]\npath = \"FOLDER/control.sock\"\n[metrics]\nlisten = \"\"\n[api]\nlisten = \"ADDRESS\"\n" +
		"certificate = \"FOLDER/box-a.pem\"\nkey = \"FOLDER/box-a.key\"\ntrust = \"FOLDER/clients.pem\"\n"
	text = strings.NewReplacer("FOLDER", r.dir, "ADDRESS", r.address).Replace(text + lines + "\n")
	must(r.T, os.WriteFile(r.file("config"), []byte(text), 0o600))
}

// start starts the daemon; it is gone at the test's end.
func (r *remotes) start() {
	r.Helper()
	r.ended = make(chan error, 1)
	r.process = exec.Command(os.Args[0], "-test.run=^"+r.Name()+"$")
	r.process.Env = append(os.Environ(), remoted+"="+r.file("config"))
	r.process.Stderr = &r.log
	must(r.T, r.process.Start())
	process, ended := r.process, r.ended
	go func() {
		ended <- process.Wait()
		close(ended)
	}()
	r.Cleanup(func() {
		_ = process.Process.Kill()
		<-ended
	})
}

// ready waits until the daemon answers.
func (r *remotes) ready() {
	r.Helper()
	r.says("msg=ready", 1)
}

// says waits until the log has a text so many times.
func (r *remotes) says(what string, times int) {
	r.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(r.log.String(), what) < times; time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-r.ended:
			r.Fatalf("the daemon has ended: %v\n%s", err, &r.log)
		default:
		}
		if time.Now().After(end) {
			r.Fatalf("the log does not say %d times %q\n%s", times, what, &r.log)
		}
	}
}

// hangUp has the daemon read its configuration again, and waits for what it then says.
func (r *remotes) hangUp(says string) {
	r.Helper()
	times := strings.Count(r.log.String(), says)
	must(r.T, r.process.Process.Signal(syscall.SIGHUP))
	r.says(says, times+1)
}

// remote is a client with a certificate of this name.
func (r *remotes) remote(name string) *client.Client {
	r.Helper()
	c := client.DialTLS(r.address, r.tls(name))
	r.Cleanup(c.Close)
	return c
}

func (r *remotes) tls(name string) *tls.Config {
	r.Helper()
	own, err := tls.LoadX509KeyPair(r.file(name+".pem"), r.file(name+".key"))
	must(r.T, err)
	trust, err := mutual.ReadCertificates(r.file("boxes.pem"))
	must(r.T, err)
	roots := x509.NewCertPool()
	roots.AddCert(trust[0])
	return &tls.Config{RootCAs: roots, ServerName: "box-a", Certificates: []tls.Certificate{own}}
}

// version asks for no more than the version.
func (r *remotes) version(c *client.Client) error {
	_, err := c.GetVersion(r.Context(), &sallyportv1.GetVersionRequest{})
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
