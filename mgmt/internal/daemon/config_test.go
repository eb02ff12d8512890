// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// other is a configuration that differs from the tunnel's in nearly everything but its first
// policy.
var other = []string{
	"link add link black name black.7 type vlan protocol 802.1Q id 7",
	"link set dev red mtu 1400",
	"next-hop default dev red lladdr 02:00:00:00:00:01",
	"addr add 192.0.2.1/24 dev black",
	"addr add 198.51.100.1/24 dev black.7",
	"neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black",
	"route add 10.2.0.0/16 via 192.0.2.2 dev black mtu 1300",
	"reassembly set timeout 20s",
	"punt set arp rate 77 burst 5 dev red",
	"qos set dscp ef",
	"skip-headers set hop,dst",
	"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7 dir out action allow priority 0 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
	"xfrm policy add src 10.9.0.0/16 dst 0.0.0.0/0 dir out action block priority 0",
}

func newConfigRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.keep()
	return r
}

func (r *rig) saved() string { return filepath.Join(r.dir, "saved") }

func (r *rig) keep() {
	r.t.Helper()
	if err := r.daemon.KeepConfig(r.saved()); err != nil {
		r.t.Fatal(err)
	}
}

// load asks for lines to be loaded.
func (r *rig) load(confirm int, lines ...string) map[string]any {
	r.t.Helper()
	text, _ := json.Marshal(lines)
	return r.get("config", fmt.Sprintf(`,"verb":"load","file":"f","confirm":%d,"lines":%s`, confirm, text))
}

// lines are those of the running configuration, or of the saved one.
func (r *rig) lines(verb string) (lines []string) {
	r.t.Helper()
	for _, line := range r.get("config", fmt.Sprintf(`,"verb":%q`, verb))["lines"].([]any) {
		lines = append(lines, line.(string))
	}
	return lines
}

// TestConfigLines: show gives the lines that were loaded, and they may be loaded again.
func TestConfigLines(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	r.same("loaded", r.load(0, other...)["ok"], true)
	r.same("lines", strings.Join(r.lines("show"), "\n"), strings.Join(other, "\n"))
	r.fake.Log = nil
	r.same("again", r.load(0, other...)["ok"], true)
	if len(r.fake.Log) != 0 {
		t.Errorf("the same configuration writes rows: %v", r.fake.Log)
	}
	r.same("empty", r.load(0)["ok"], true)
	r.same("lines", len(r.lines("show")), 0)
	r.same("limits", strings.Contains(fmt.Sprint(r.get("command", `,"words":["punt","show"]`)["output"]), "punt set arp rate 1000 burst 1024 dev red\n"), true)
	if v := r.fake.Get(transport.Inner, regs.InnerLimitArp); v&0xffff == 5 {
		t.Errorf("the limit of ARP is still on the chip: %#x", v)
	}
}

// TestLoadKeepsSAs: a load writes no key and no window, and the flow of a policy that stays.
func TestLoadKeepsSAs(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	r.fake.Log = nil
	r.same("loaded", r.load(0, other...)["ok"], true)
	for _, table := range []regs.Table{regs.CryptoTableOutboundKey, regs.CryptoTableInboundKey, regs.InnerTableReplay, regs.CryptoTableOutboundNumber, regs.InnerTableOutboundUsage} {
		if rows := r.fake.LogOf(table); len(rows) != 0 {
			t.Errorf("%s: %v", table.Name, rows)
		}
	}
	r.same("SAs", r.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 2\n")
}

// TestSavedLasts: a box that lost everything gets the saved configuration, and a daemon that starts
// over chips that hold theirs changes nothing.
func TestSavedLasts(t *testing.T) {
	r := newConfigRig(t)
	r.same("saved", len(r.lines("saved")), 0)
	r.same("loaded", r.load(0, other...)["ok"], true)
	r.same("save", r.get("config", `,"verb":"save"`)["ok"], true)
	r.same("mode", mode(t, r.saved()), "-rw-------")
	r.must("addr del 198.51.100.1/24 dev black.7")
	r.same("saved", strings.Join(r.lines("saved"), "\n"), strings.Join(other, "\n"))
	r.fake.Reset()
	r.restart()
	r.keep()
	if _, found, err := r.daemon.RunSaved(); err != nil || !found {
		t.Fatal(found, err)
	}
	r.same("lines", strings.Join(r.lines("show"), "\n"), strings.Join(other, "\n"))
}

func mode(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().String()
}

// TestLoadRefused: one sentence names the fault, and nothing is changed, on the disk neither.
func TestLoadRefused(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	before := strings.Join(r.lines("show"), "\n")
	r.fake.Log = nil
	for _, test := range []struct{ line, want string }{
		{"frob", "f:2: unknown command"},
		{tunnel[1], "f:2: a configuration holds lines that add or set anything but SAs"},
		{"addr del 192.0.2.1/24 dev black", "f:2: a configuration holds"},
		{"xfrm policy flush", "f:2: a configuration holds"},
		{"route add 10.0.0.0/8 via 10.9.9.9", "f:2: no device has a network with the gateway"},
		{other[3], "f:2: black has the address 192.0.2.1/24 already"},
		{"link add br0 type bridge;link set dev red master br0", "f:3: red is in the bridge br0 and black is not"},
	} {
		answer := r.load(60, append([]string{other[3]}, strings.Split(test.line, ";")...)...)
		reason := fmt.Sprint(answer["error"])
		if answer["input"] != true || !strings.Contains(reason, test.want) || strings.Contains(reason, "\n") || strings.Contains(reason, keyOut[:8]) {
			t.Errorf("%s: %v, want %s", test.line, answer, test.want)
		}
	}
	for request, want := range map[string]string{
		`,"verb":"load","confirm":3601`: "a load can wait for its confirmation 1 to 3600 seconds, not 3601",
		`,"verb":"confirm"`:             "no load waits for its confirmation: it was confirmed, undone, or never asked for one",
		`,"verb":"show","confirm":1`:    "lines, file and confirm are of the verb load",
		`,"verb":"frob"`:                "verb must be show, saved, save, load or confirm",
	} {
		r.same(request, r.get("config", request)["error"], want)
	}
	r.same("lines", strings.Join(r.lines("show"), "\n"), before)
	if _, err := os.Stat(r.saved() + ".undo"); err == nil || len(r.fake.Log) != 0 {
		t.Error(err, r.fake.Log)
	}
}

// TestUnconfirmed: a load that is not confirmed is undone, and what others changed since stays; by
// the next daemon, if this one ends.
func TestUnconfirmed(t *testing.T) {
	for _, restart := range []bool{false, true} {
		r := newConfigRig(t)
		r.must(tunnel...)
		r.must("addr add 10.1.0.1/24 dev red")
		before := r.lines("show")
		clock := time.Unix(1_800_000_000, 0)
		r.daemon.now = func() time.Time { return clock }
		r.same("undone at", int64(r.load(60, other...)["undo"].(float64)), clock.Unix()+60)
		r.same("save", strings.HasPrefix(fmt.Sprint(r.get("config", `,"verb":"save"`)["error"]), "a load waits for its confirmation until "), true)
		r.must("addr add 203.0.113.1/24 dev black")
		clock = clock.Add(59 * time.Second)
		if wait, waits := r.daemon.undoDue(); !waits || wait != time.Second {
			t.Errorf("%v %t", wait, waits)
		}
		if restart {
			r.restart()
			r.keep()
			r.daemon.now = func() time.Time { return clock }
		}
		clock = clock.Add(time.Second)
		if _, waits := r.daemon.undoDue(); waits {
			t.Error("it was not undone: " + r.log.String())
		}
		want := append([]string{before[0], before[1], "addr add 203.0.113.1/24 dev black"}, before[2:]...)
		r.same("lines", strings.Join(r.lines("show"), "\n"), strings.Join(want, "\n"))
		r.same("SAs", r.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 2\n")
		r.same("nothing waits", r.get("config", `,"verb":"confirm"`)["ok"], false)
	}
}

// TestLoadNeedsNoFileLater: a load that has begun writes no other file, for the disk may be full by
// then; what others changed since stays all the same.
func TestLoadNeedsNoFileLater(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	clock := time.Unix(1_800_000_000, 0)
	r.daemon.now = func() time.Time { return clock }
	before := r.lines("show")
	r.fake.OnRow = func(fakebox.Row) {
		if err := os.MkdirAll(r.saved()+".undo.new", 0o700); err != nil {
			t.Error(err)
		}
	}
	answer := r.load(60, other...)
	r.same("load", answer["error"], nil)
	r.must("addr add 203.0.113.1/24 dev black")
	clock = clock.Add(time.Minute)
	if _, waits := r.daemon.undoDue(); waits {
		t.Error("it was not undone: " + r.log.String())
	}
	want := append([]string{before[0], "addr add 203.0.113.1/24 dev black"}, before[1:]...)
	r.same("lines", strings.Join(r.lines("show"), "\n"), strings.Join(want, "\n"))
}

// TestConfirmed: a load that is confirmed stays.
func TestConfirmed(t *testing.T) {
	r := newConfigRig(t)
	clock := time.Unix(1_800_000_000, 0)
	r.daemon.now = func() time.Time { return clock }
	r.same("loaded", r.load(60, other...)["ok"], true)
	r.same("second", r.load(60, other...)["ok"], false)
	r.same("confirm", r.get("config", `,"verb":"confirm"`)["ok"], true)
	clock = clock.Add(time.Hour)
	if _, waits := r.daemon.undoDue(); waits {
		t.Error("a load waits")
	}
	r.same("lines", strings.Join(r.lines("show"), "\n"), strings.Join(other, "\n"))
}

// TestNowhereToWrite: without a place on the disk nothing is saved or loaded for a time, and the
// box is as it was.
func TestNowhereToWrite(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	gone := filepath.Join(r.dir, "gone")
	if err := r.daemon.KeepConfig(filepath.Join(gone, "saved")); err != nil {
		t.Fatal(err)
	}
	r.fake.Log = nil
	r.same("save", r.get("config", `,"verb":"save"`)["error"], "cannot save the configuration to "+gone+"/saved, which stays as it was: no such file or directory")
	r.same("load", r.load(60, other...)["error"], "cannot write "+gone+"/saved.undo, by which the load would be undone: no such file or directory")
	if len(r.fake.Log) != 0 {
		t.Error(r.fake.Log)
	}
	r.same("load", r.load(0, other...)["ok"], true)
}

// TestOrderOfPolicies: of policies of one priority that share packets the first in the file
// decides, whatever ran before.
func TestOrderOfPolicies(t *testing.T) {
	r := newConfigRig(t)
	policy := func(dst, action string) string {
		return "xfrm policy add src 10.1.0.0/16 dst " + dst + " dir out action " + action + " priority 5"
	}
	wide, narrow, apart, first := policy("10.0.0.0/8", "block"), policy("10.2.0.0/16", "punt"), policy("172.16.0.0/12", "block"), policy("10.2.3.0/24", "block")
	for _, list := range [][]string{{wide, narrow, apart}, {narrow, wide, apart}, {first, narrow, apart, wide}, {wide, apart}, {apart, first, wide, narrow}} {
		if answer := r.load(0, list...); answer["ok"] != true {
			t.Fatal(answer)
		}
		at := map[string]int{}
		for i, line := range r.lines("show") {
			at[line] = i
		}
		for i, before := range list {
			for _, behind := range list[i+1:] {
				if at[before] > at[behind] && before != apart && behind != apart {
					t.Errorf("%s comes behind %s", before, behind)
				}
			}
		}
	}
	r.same("twice", strings.HasPrefix(fmt.Sprint(r.load(0, wide, narrow, wide)["error"]), "f:3: a second policy with dir out"), true)
	if _, err := xfrm.ParseConfig("f", []byte(wide)); err != nil {
		t.Error(err)
	}
}

// TestNothingSaved: a daemon whose box was reset while it was away, and that has nothing saved,
// says that the configuration is gone.
func TestNothingSaved(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	r.end()
	r.fake.Reset()
	r.start()
	r.keep()
	done, found, err := r.daemon.RunSaved()
	if err != nil || found || len(done.Notes) != 1 || !strings.Contains(done.Notes[0], "the box was reset since") {
		t.Error(done, found, err)
	}
}
