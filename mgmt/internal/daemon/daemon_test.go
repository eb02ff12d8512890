// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/spis"
	"sallyport/mgmt/internal/transport"
)

// TestStrict: the daemon refuses malformed requests with one sentence and changes nothing.
func TestStrict(t *testing.T) {
	r := newRig(t)
	l := r.dial()
	for _, test := range []struct{ text, id, reason string }{
		{`{"id":7,"do":"frob"}`, "7", `\"do\" cannot be \"frob\"`},
		{`{"id":"x"}`, `"x"`, `the request has no \"do\"`},
		{`{"do":"counters"}`, "null", `the request has no \"id\"`},
		{`{"id":7,"do":"counters","all":true}`, "7", `unknown field \"all\"`},
		{`{"id":7,"do":"counters"}{}`, "null", "the line is no JSON object: it is wrong at byte 25"},
		{`[1]`, "null", "the line is no JSON object"},
		{``, "null", "the line is no JSON object: it is wrong at byte 0"},
		{`{"id":7,"do":"batch","lines":"x"}`, "7", `the field \"lines\" cannot be a JSON string`},
		{`{"id":7,"do":"batch","lines":["addr add 192.0.2.1/24 dev black","frob"]}`, "7", `lines:2: unknown command`},
		{`{"id":7,"do":"batch","lines":["addr show\nfrob"]}`, "7", `lines:1: a line cannot have a line break`},
		{`{"id":7,"do":"batch","file":"a.xfrm","lines":["","frob"]}`, "7", `a.xfrm:2: unknown command`},
		{`{"id":7,"do":"command","words":[]}`, "7", "a command"},
		{`{"id":7,"do":"alloc-spi","src":"192.0.2.2","dst":"::1","min":256,"max":256}`, "7", "src's version"},
		{`{"id":7,"do":"alloc-spi","src":"192.0.2.2","dst":"192.0.2.1","min":255,"max":256}`, "7", "from 256 on"},
		{`{"id":7,"do":"alloc-spi","src":"192.0.2.2","dst":"192.0.2.1","min":-1,"max":256}`, "7", `the field \"min\" cannot be`},
		{`{"id":7,"do":"query-state","src":"","dst":"192.0.2.9","proto":"esp","spi":1}`, "7", "there is no SA with dst 192.0.2.9 proto esp spi 0x1"},
		{`{"id":7,"do":"query-policy","dir":"out","src":"10.0.0.0/8","dst":"10.0.0.0/8"}`, "7", "there is no policy"},
		{`{"id":7,"do":"query-policy","dir":"up"}`, "7", "dir"},
		{`{"id":7,"do":"list","what":"route"}`, "7", `what must be`},
	} {
		answer := l.ask(test.text)
		if !strings.HasPrefix(answer, `{"id":`+test.id+`,"ok":false,"error":"`) || !strings.Contains(answer, test.reason) || !strings.HasSuffix(answer, `"input":true}`) {
			t.Errorf("%s:\n%s\nwant %s", test.text, answer, test.reason)
		}
	}
	if r.fake.Writes > 100 { // those of looking
		t.Errorf("%d writes", r.fake.Writes)
	}
	if answer := r.dial().ask(`{"id":1,"do":"batch","lines":["` + strings.Repeat("#", control.MaxLine) + `"]}`); !strings.Contains(answer, "longer than 1048576 bytes") {
		t.Error(answer)
	}
	if answer := r.dial().ask(`{"id":1,"do":"batch","lines":["` + strings.Repeat("#", control.MaxLine-33) + `"]}`); !strings.Contains(answer, `"ok":true`) {
		t.Error(answer)
	}
}

// TestBatch: what a client installs is on the chips, listed without keys, and stays when the
// client goes.
func TestBatch(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	if len(r.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)) != 1 {
		t.Error("the SA is not on the chip")
	}
	states := fmt.Sprint(r.get("list", `,"what":"state"`)["items"])
	if strings.Count(states, "spi 0x") != 2 || !strings.Contains(states, "<redacted>") || strings.Contains(states, keyOut[:8]) {
		t.Error(states)
	}
	r.same("policies", len(r.get("list", `,"what":"policy"`)["items"].([]any)), 2)
	r.same("count", r.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 2\n")
	if out := fmt.Sprint(r.get("command", `,"words":["xfrm","policy","list"],"statistics":true`)["output"]); !strings.Contains(out, "lifetime current") {
		t.Error(out)
	}
	// All or nothing.
	answer := r.dial().ask(batch("xfrm state delete dst 192.0.2.2 proto esp spi 0x1001", "xfrm state delete dst 192.0.2.9 proto esp spi 1"))
	if !strings.Contains(answer, "lines:2: there is no SA") {
		t.Error(answer)
	}
	r.same("count", r.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 2\n")
	r.same("next hop", r.get("command", `,"words":["next-hop","default","dev","red","lladdr","02:00:00:00:00:01"]`)["ok"], true)
	chips := r.get("counters", "")["chips"].(map[string]any)
	r.same("counters", len(chips["inner"].(map[string]any)), len(regs.InnerCounters))
	capabilities := r.get("capabilities", "")
	r.same("version", capabilities["daemon"], "1.2.3")
	r.same("suites", len(capabilities["suites"].([]any)), 14)
	r.same("sas", capabilities["chips"].(map[string]any)["inner"].(map[string]any)["capabilities"].(map[string]any)["sas"], 16)
}

// TestRestart: a daemon that starts writes no row, knows everything, and goes on from there; after
// a reset it configures the chips again, but for SAs, and says so.
func TestRestart(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	before := fmt.Sprint(r.get("list", `,"what":"state"`), r.get("list", `,"what":"policy"`))
	r.fake.Log = nil
	r.restart()
	if !r.daemon.Adopted() || len(r.fake.Log) != 0 {
		t.Errorf("adopted %t, rows written %v", r.daemon.Adopted(), r.fake.Log)
	}
	if after := fmt.Sprint(r.get("list", `,"what":"state"`), r.get("list", `,"what":"policy"`)); after != before {
		t.Errorf("%s\nwant\n%s", after, before)
	}
	r.must("xfrm state delete dst 192.0.2.1 proto esp spi 0x2001")
	if rows := r.fake.LogOf(regs.CryptoTableOutboundKey); len(rows) != 0 {
		t.Errorf("the other SA's key was written again: %v", rows)
	}
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	r.fake.Reset()
	r.poll()
	r.same("event", monitor.next(), `{"event":"restart"}`)
	r.poll() // once
	r.same("events", r.daemon.events.Counted()[events.EventRestart], 1)
	r.same("SAs", r.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 0\n")
	r.same("addresses", r.get("command", `,"words":["addr","show"]`)["output"], "192.0.2.1/24 dev black\n")
	r.same("policies", len(r.get("list", `,"what":"policy"`)["items"].([]any)), 2)
	r.must(otherKey(tunnel[1]), tunnel[2])
}

func (r *rig) poll() {
	r.t.Helper()
	r.daemon.mu.Lock()
	defer r.daemon.mu.Unlock()
	if err := r.daemon.poll(); err != nil {
		r.t.Fatal(err)
	}
}

// TestSPI: an SPI goes to one client alone, until its SA comes or the time to fetch it is over.
func TestSPI(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	r.daemon.now = func() time.Time { return now }
	ask := func(low, high int) any {
		answer := r.get("alloc-spi", fmt.Sprintf(`,"src":"192.0.2.2","dst":"192.0.2.1","min":%d,"max":%d`, low, high))
		if answer["ok"] != true {
			return answer["error"]
		}
		return answer["spi"]
	}
	seen := map[any]bool{}
	for range 4 {
		seen[ask(0x2000, 0x2003)] = true
	}
	if len(seen) != 4 {
		t.Error(seen)
	}
	r.same("full", ask(0x2000, 0x2003), "no SPI from 0x2000 to 0x2003 is free")
	now = now.Add(spis.Larval - time.Second)
	r.same("full", ask(0x2000, 0x2003), "no SPI from 0x2000 to 0x2003 is free")
	r.must(tunnel...)
	now = now.Add(time.Second)
	seen = map[any]bool{ask(0x2000, 0x2003): true, ask(0x2000, 0x2003): true, ask(0x2000, 0x2003): true}
	if len(seen) != 3 || seen[float64(0x2001)] {
		t.Error(seen)
	}
	r.same("full", ask(0x2001, 0x2001), "no SPI from 0x2001 to 0x2001 is free")
	r.must("xfrm state delete dst 192.0.2.1 proto esp spi 0x2001")
	r.same("free again", ask(0x2001, 0x2001), 0x2001)
	if spi := ask(0xc0000000, 0xffffffff).(float64); spi < 0xc0000000 {
		t.Error(spi)
	}
}

// TestQuery: counts are the chips', and times those that the chips' counts allow.
func TestQuery(t *testing.T) {
	r := newRig(t)
	now := time.Unix(1_800_000_000, 0)
	r.daemon.now = func() time.Time { return now }
	r.daemon.session.Now = r.daemon.now
	r.must(tunnel...)
	carry := func(table regs.Table, index int, bytes, packets uint64, f struct{ bytes, packets regs.Field }) {
		row := make([]uint32, table.Words())
		f.bytes.Put(row, bytes)
		f.packets.Put(row, packets)
		r.fake.Table(transport.Inner, table)[index] = row
	}
	sa := struct{ bytes, packets regs.Field }{regs.SaUsageRow.Bytes, regs.SaUsageRow.Packets}
	state := func() string {
		answer := r.get("query-state", `,"src":"192.0.2.2","dst":"192.0.2.1","proto":"esp","spi":8193`)
		return fmt.Sprintf("%.0f %.0f %.0f %.0f %v", answer["bytes"], answer["packets"], answer["add_time"], answer["use_time"], answer["seq"])
	}
	r.same("fresh", state(), "0 0 1800000000 0 0")
	now = now.Add(10 * time.Second)
	carry(regs.InnerTableInboundUsage, 0, 300, 3, sa)
	window := make([]uint32, regs.InnerTableReplay.Words())
	regs.ReplayRow.Top.Put(window, 1<<32+5)
	r.fake.Table(transport.Inner, regs.InnerTableReplay)[0] = window
	r.same("used", state(), "300 3 1800000000 1800000010 4.294967301e+09")
	now = now.Add(10 * time.Second)
	r.same("not since", state(), "300 3 1800000000 1800000010 4.294967301e+09")
	carry(regs.InnerTableInboundUsage, 0, 400, 4, sa)
	r.same("again", state(), "400 4 1800000000 1800000020 4.294967301e+09")
	outbound := `,"dst":"192.0.2.2","proto":"esp","spi":4097`
	r.same("an outbound SA's number", r.get("query-state", outbound)["seq"], 0)
	r.same("advance", r.get("advance", outbound+`,"number":77`)["ok"], true)
	r.same("an outbound SA's number", r.get("query-state", outbound)["seq"], 77)
	r.same("advance too far", r.get("advance", outbound+`,"number":4294967296`)["error"], "a sequence number above 2^32 - 1 needs flag esn")
	policy := func(fields string) any { return r.get("query-policy", fields)["use_time"] }
	const out, fwd = `,"src":"10.1.0.0/16","dst":"10.2.0.0/16","proto":"udp","dport":7,"dir":"out"`, `,"src":"10.2.0.0/16","dst":"10.1.0.0/16","dir":"fwd"`
	r.same("policy", policy(out), 0)
	r.same("of an interface", r.get("query-policy", out+`,"if_id":7`)["error"], "there is no policy with dir out, if_id 0x7 and selector src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7")
	row := make([]uint32, regs.InnerTablePolicyUsage.Words())
	regs.PolicyUsageRow.Packets.Put(row, 1)
	r.fake.Table(transport.Inner, regs.InnerTablePolicyUsage)[1] = row
	r.same("policy", policy(out), float64(now.Unix()))
	r.same("its SAs'", policy(fwd), float64(now.Unix()))
	r.must("xfrm policy add dst 10.9.0.0/16 dir in action block")
	r.same("not counted", r.get("query-policy", `,"src":"","dst":"10.9.0.0/16","dir":"in"`)["ok"], false)
	r.must("xfrm state flush", "xfrm policy flush")
	r.same("remembered", len(r.daemon.uses.uses), 0)
}

// TestMonitor: every event comes to every monitor, and a client that asks more is cut off.
func TestMonitor(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	first, second := r.dial(), r.dial()
	r.same("answer", first.ask(`{"id":5,"do":"monitor"}`), `{"id":5,"ok":true}`)
	second.ask(`{"id":6,"do":"monitor"}`)
	r.fake.Expire(1<<regs.InnerLifetimeEventBytes.LSB | 1<<regs.InnerLifetimeEventHard.LSB)
	r.fake.Forge(0, 11)
	r.fake.Drop(0, regs.AuditReasonReplayed, 12)
	r.fake.Forge(0, 13)
	r.poll()
	for _, l := range []*line{first, second} {
		r.same("expire", l.next(), `{"event":"expire","src":"192.0.2.1","dst":"192.0.2.2","proto":"esp","spi":4097,"reqid":1,"dir":"out","hard":true,"limit":"bytes"}`)
		// of one time, so the inner chip's comes first
		for _, want := range []string{`"event":"audit"`, `"event":"icv"`} {
			if text := l.next(); !strings.Contains(text, want) {
				t.Errorf("%s, want %s", text, want)
			}
		}
	}
	// The forged packet is as its predecessor, so it raises no event of its own.
	fmt.Fprintln(first.conn, `{"id":7,"do":"counters"}`)
	if _, err := first.answers.ReadByte(); err == nil {
		t.Error("a monitor was answered")
	}
	r.same("counts", r.daemon.events.Counted()[events.EventICV], 1)
	// What waits is told before a change discards it.
	r.fake.Drop(0, regs.AuditReasonTooOld, 14)
	r.must("xfrm state delete dst 192.0.2.1 proto esp spi 0x2001")
	if text := second.next(); !strings.Contains(text, `"reason":"too_old","seq":14`) {
		t.Error(text)
	}
}

// TestMerged: bad ICVs of an SA are one event with their number.
func TestMerged(t *testing.T) {
	icv := func(spi, seq uint32) events.Event {
		return events.Event{Kind: events.EventICV, SPI: spi, Dropped: &events.Dropped{Seq: seq}}
	}
	out := merged([]events.Event{icv(1, 5), icv(2, 6), {Kind: events.EventAudit, SPI: 1, Dropped: &events.Dropped{}}, icv(1, 7)})
	if len(out) != 3 || out[0].Count != 2 || out[0].Seq != 5 || out[1].Count != 1 || out[2].Count != 0 {
		t.Errorf("%+v", out)
	}
}

// TestManyClients: requests of many at once are each answered, in order, and none is mixed
// with another's.
func TestManyClients(t *testing.T) {
	r := newRig(t)
	r.must(tunnel[0])
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Add(1)
		l := r.dial()
		go func() {
			defer clients.Done()
			for id := range 5 {
				address := fmt.Sprintf("10.%d.%d.1/24", n, id)
				answer := l.ask(strings.Replace(batch("addr add "+address+" dev red"), `"id":1`, fmt.Sprintf(`"id":%d`, id), 1))
				if !strings.HasPrefix(answer, fmt.Sprintf(`{"id":%d,"ok":true`, id)) {
					t.Errorf("%s: %s", address, answer)
				}
			}
		}()
	}
	clients.Wait()
	output := r.get("command", `,"words":["addr","show"]`)["output"].(string)
	r.same("addresses", strings.Count(output, "\n"), 41)
}

// TestKeysAreNotLogged: neither in what goes well nor in what does not, in whatever form.
func TestKeysAreNotLogged(t *testing.T) {
	r := newRig(t)
	l := r.dial()
	l.ask(batch(tunnel...))
	l.ask(batch(tunnel...)) // a second of each
	l.ask(batch("xfrm state add 0x" + keyOut))
	l.ask(batch("0x" + keyOut))
	l.ask(`{"id":1,"do":"0x` + keyOut + `"}`)
	l.ask(`{"id":1,"do":"batch","0x` + keyOut + `":1}`)
	l.ask(`{"id":1,"do":"batch","lines":["` + keyOut)
	r.fake.FailAfter = 60
	l.ask(batch(strings.ReplaceAll(otherKey(tunnel[1]), "0x1001", "0x1002")))
	log := r.log.String()
	if !strings.Contains(log, "configuration changed") || !strings.Contains(log, "refused") || !strings.Contains(log, "the bus is gone") {
		t.Error(log)
	}
	for _, key := range []string{keyOut, keyIn} {
		raw, _ := hex.DecodeString(key)
		for _, form := range []string{key[:8], key[8:16], strings.ToUpper(key[8:16]), string(raw[:4]), fmt.Sprint(raw[:4])[1:8]} {
			if strings.Contains(log, form) {
				t.Errorf("the log has %q of a key:\n%s", form, log)
			}
		}
	}
}
