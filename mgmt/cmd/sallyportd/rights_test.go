// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// child says that the test's process is the one that gives rights up.
const child = "SALLYPORT_TEST_RIGHTS"

// TestRights: in every thread no capability is left, none can be gained, and no core is dumped. A
// process of the test's own gives them up.
func TestRights(t *testing.T) {
	if os.Getenv(child) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestRights$", "-test.v")
		command.Env = append(os.Environ(), child+"=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if err := hideMemory(); err != nil {
		t.Fatal(err)
	}
	if err := dropCapabilities(); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, want := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"} {
			if !bytes.Contains(text, []byte(want+"\n")) {
				t.Errorf("%s has no %q: %s", path, want, text)
			}
		}
	}
	limits, err := os.ReadFile("/proc/thread-self/limits")
	if err != nil {
		t.Skip("the process hides from itself, too: run as root")
	}
	for line := range strings.Lines(string(limits)) {
		if strings.HasPrefix(line, "Max core file size") && strings.Join(strings.Fields(line), " ") != "Max core file size 0 0 bytes" {
			t.Error(line)
		}
	}
}
