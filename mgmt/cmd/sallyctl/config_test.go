// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestConfig: a configuration goes from a box to a file and back, and differs from the saved one as
// long as it is not saved.
func TestConfig(t *testing.T) {
	w := newWorld(t)
	path := daemonOf(t, w)
	does := func(args ...string) (out, errs string) {
		t.Helper()
		code, out, errs, sentence := run(append([]string{"--daemon", path}, args...)...)
		if code != 0 {
			t.Fatalf("%v: %d %s", args, code, sentence)
		}
		return out, errs
	}
	does("-batch", w.file("b", batch))
	first, _ := does("config", "show")
	if !strings.Contains(first, "addr add 192.0.2.1/24 dev black\n") || strings.Contains(first, "state") {
		t.Error(first)
	}
	if out, errs := does("config", "diff"); strings.ReplaceAll("\n"+out, "\n+", "\n") != "\n"+first || errs != "note: no configuration is saved yet\n" {
		t.Errorf("%s%s", out, errs)
	}
	does("config", "save")
	does("qos", "set", "dscp", "ef")
	does("addr", "del", "192.0.2.1/24", "dev", "black")
	if out, _ := does("config", "diff"); out != "-addr add 192.0.2.1/24 dev black\n+qos set dscp ef\n" {
		t.Error(out)
	}
	if _, errs := does("config", "load", "--confirm", "60", w.file("backup", first)); !strings.Contains(errs, "note: the load is undone at ") {
		t.Error(errs)
	}
	does("config", "confirm")
	if out, errs := does("config", "show"); out != first || errs != "" {
		t.Errorf("%s%s", out, errs)
	}
	if out, _ := does("config", "show", "--saved"); out != first {
		t.Error(out)
	}
	for _, test := range []struct{ args, sentence string }{
		{"config load", "config load takes one file"},
		{"config load " + w.dir + "/none", "cannot read " + w.dir + "/none"},
		{"config load --confirm 0 " + w.file("backup", first), "--confirm takes 1 to 3600 seconds, not 0"},
		{"config load " + w.file("bad", first+"xfrm state flush\n"), "bad:3: a configuration holds lines"},
		{"config confirm", "no load waits"},
		{"config frob", "unknown command"},
	} {
		if code, _, _, sentence := run(append([]string{"--daemon", path}, strings.Fields(test.args)...)...); code != 2 || !strings.Contains(sentence, test.sentence) {
			t.Errorf("%s: %d %s", test.args, code, sentence)
		}
	}
	if code, _, _, sentence := run("--socket", w.socket+"x", "config", "show"); code != 2 || !strings.Contains(sentence, "config is of sallyportd") {
		t.Errorf("%d %s", code, sentence)
	}
}
