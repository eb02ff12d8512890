// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTrail: the log says which process of whom asked for each change, and whether it was done;
// nothing of who reads, and no key.
func TestTrail(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	r.get("command", `,"words":["xfrm","state","flush","never"]`)
	r.get("counters", "")
	log := r.log.String()
	for _, want := range []string{"do=batch done=true", "do=command done=false"} {
		line := fmt.Sprintf("event=request %s uid=%d gid=%d pid=%d\n", want, os.Getuid(), os.Getgid(), os.Getpid())
		if !strings.Contains(log, line) {
			t.Errorf("no %s in %s", line, log)
		}
	}
	if strings.Contains(log, "do=counters done") || strings.Contains(log, keyOut) || strings.Contains(log, "never") {
		t.Error(log)
	}
}
