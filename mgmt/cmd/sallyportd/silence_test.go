// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
)

// silent says that the test's process is the daemon whose simulator falls silent.
const silent = "SALLYPORT_TEST_SILENT"

// mostStop is far less than the time that an access to a simulator may take otherwise.
const mostStop = 20 * time.Second

// TestSilentChips: a daemon that is told to end does not wait for chips that have stopped to answer
// in a change. The next daemon undoes that change.
func TestSilentChips(t *testing.T) {
	if path := os.Getenv(silent); path != "" {
		root := newRoot()
		root.SetArgs([]string{"--config", path})
		if err := root.Execute(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailed)
		}
		return
	}
	dir := t.TempDir()
	registers, err := net.Listen("unix", filepath.Join(dir, "box.sock"))
	must(t, err)
	defer registers.Close()
	box := fakebox.New(fakebox.Small)
	go box.Serve(registers)
	config := filepath.Join(dir, "config")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "registers = \"unix:%s/box.sock\"\n[control]\npath = \"%s/control.sock\"\n[metrics]\nlisten = \"\"\n", dir, dir), 0o600))
	start := func() (*exec.Cmd, *bytes.Buffer, *requests) {
		var log bytes.Buffer
		daemon := exec.Command(os.Args[0], "-test.run=^TestSilentChips$")
		daemon.Env = append(os.Environ(), silent+"="+config)
		daemon.Stderr = &log
		must(t, daemon.Start())
		t.Cleanup(func() { _ = daemon.Process.Kill() })
		return daemon, &log, dial(t, filepath.Join(dir, "control.sock"))
	}
	daemon, log, client := start()
	client.must(t, stateLine("in", 0x1001))
	quiet, goOn := make(chan struct{}), make(chan struct{})
	box.Between(func() {
		box.OnRow = func(fakebox.Row) {
			box.OnRow = nil
			close(quiet)
			<-goOn
		}
	})
	text, _ := json.Marshal(map[string]any{"id": 1, "do": "batch", "lines": []string{stateLine("in", 0x1003)}})
	_, err = client.conn.Write(append(text, '\n'))
	must(t, err)
	<-quiet
	must(t, daemon.Process.Signal(syscall.SIGTERM))
	ended := make(chan error)
	go func() { ended <- daemon.Wait() }()
	select {
	case <-ended:
	case <-time.After(mostStop):
		t.Fatal("the daemon waits for the chips")
	}
	close(goOn)
	want := "the simulator has not answered within 2s of this program's end"
	if answer, err := client.answers.ReadString('\n'); err != nil || !strings.Contains(answer, want) || !strings.Contains(answer, "the change did not finish") {
		t.Errorf("the client is told %q, %v", answer, err)
	}
	if !strings.Contains(log.String(), want) {
		t.Error(log)
	}
	daemon, log, client = start()
	client.must(t, stateLine("in", 0x1003))
	must(t, daemon.Process.Signal(syscall.SIGTERM))
	must(t, daemon.Wait())
	if !strings.Contains(log.String(), "a change was cut short") {
		t.Error(log)
	}
}
