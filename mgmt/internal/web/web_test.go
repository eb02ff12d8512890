// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestAnEmptyBox has lists, and nothing in them.
func TestAnEmptyBox(t *testing.T) {
	r := newRig(t)
	r.sample(1)
	got := r.box("")
	for key, want := range map[string]string{
		"daemon": `"1.2.3"`, "configured": "false", "sas": "{}", "policies": "{}", "sa_list": "[]", "policy_list": "[]", "drops": "[]", "points": "[]", "events": "[]", "fresh": "true",
	} {
		r.same(key, got[key], want)
	}
}

// TestAnswer: figures are the chips' own, to the digit.
func TestAnswer(t *testing.T) {
	r := newRig(t)
	r.load(tunnel)
	f := regs.SaUsageRow
	row := make([]uint32, (f.Bits+31)/32)
	f.Packets.Put(row, 3)
	f.Bytes.Put(row, 1<<60+1) // more than a number of JavaScript holds
	r.fake.Table(transport.Inner, regs.InnerTableInboundUsage)[0] = row
	r.fake.Count(transport.Outer, "rx_bytes", 1000)
	r.sample(10)
	r.fake.Count(transport.Outer, "rx_bytes", 1000+64*7)
	r.fake.Count(transport.Outer, "rx_frames", 7)
	r.fake.Count(transport.Inner, "tx_bytes", 250)
	r.fake.Count(transport.Crypto, "drop_dec_icv", 1<<63)
	r.fake.Count(transport.Inner, "link_rx_lost", 6)
	r.fake.Count(transport.Inner, "drop_policy", 4)
	r.fake.Count(transport.Inner, "punt_arp", 9)
	r.fake.Set(transport.Crypto, regs.CommonStatus, 1<<regs.CommonStatusReady.LSB|1<<regs.CommonStatusLinkUp.LSB|1<<regs.CommonStatusTamper.LSB)
	before := time.Now().Unix()
	r.sample(10.5)
	got := r.box("")

	sa := got["sa_list"].([]any)[1].(map[string]any)
	if used := sa["last_use"].(float64); int64(used) < before || sa["added"].(float64) < 1 {
		t.Error(sa)
	}
	delete(sa, "last_use")
	delete(sa, "added")
	r.same("SA", sa, `{"bytes":"1152921504606846977","dir":"in","dst":"192.0.2.1","mode":"tunnel","packets":"3","reqid":1,"spi":"0x00002001","src":"192.0.2.2",`+
		`"suite":"aes128gcm16","udp":"4500 → 4500"}`)
	policies := got["policy_list"].([]any)
	r.same("outbound policy", policies[0], `{"action":"allow","bytes":"0","dir":"out","last_use":0,"packets":"0","priority":0,`+
		`"selector":"src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7","tunnel":"192.0.2.1 → 192.0.2.2 reqid 1 tunnel"}`)
	r.same("packets of an inbound policy", policies[1].(map[string]any)["packets"], `"3"`)
	r.same("policy that is not counted", policies[2], `{"action":"block","dir":"in","priority":0,"selector":"src 10.9.0.0/16 dst 10.8.0.0/16","tunnel":""}`)
	r.same("SAs", got["sas"], `{"in":1,"out":1}`)
	r.same("policies", got["policies"], `{"fwd":1,"in":1,"out":1}`)
	r.same("configured", got["configured"], "true")

	point := got["points"].([]any)[0].(map[string]any)
	r.same("black in", point["black_in"], fmt.Sprintf(`{"bits":%d,"frames":14}`, 8*64*7*2))
	r.same("red out", point["red_out"], `{"bits":4000,"frames":0}`)
	r.same("drops", point["drops_encrypt"], "8")
	r.same("drops by name", got["drops"], `[{"chip":"inner","name":"drop_policy","path":"encrypt","rate":8,"total":"4"},{"chip":"inner","name":"link_rx_lost","path":"decrypt","rate":12,"total":"6"},`+
		`{"chip":"crypto","name":"drop_dec_icv","path":"decrypt","rate":18446744073709552000,"total":"9223372036854775808"}]`)

	crypto := got["chips"].([]any)[1].(map[string]any)
	for key, want := range map[string]string{
		"name": `"crypto"`, "version": `"0.1.0"`, "simulation": "true", "ready": "true", "tamper": "true", "links": `{"inner":true,"outer":false}`, "uptime": "10500",
	} {
		r.same(key, crypto[key], want)
	}
	if all := fmt.Sprint(got); strings.Contains(all, keyOut[:8]) || strings.Contains(all, keyIn[:8]) {
		t.Error("a key is shown")
	}
}

// TestReset: a chip that starts again has no rate, whichever counter shows it, and the others have.
func TestReset(t *testing.T) {
	r := newRig(t)
	r.fake.Count(transport.Inner, "rx_frames", 100)
	r.sample(1)
	r.fake.Count(transport.Inner, "rx_frames", 0)
	r.sample(2)
	r.fake.Count(transport.Inner, "rx_frames", 7)
	r.sample(3)
	r.sample(0.5)
	r.sample(0.5) // no time has passed
	want := []string{`null`, `{"bits":0,"frames":7}`, `null`, `{"bits":0,"frames":0}`}
	for i, point := range r.box("")["points"].([]any) {
		r.same(fmt.Sprint(i, " red in"), point.(map[string]any)["red_in"], want[i])
		if i == 0 {
			r.same("black in", point.(map[string]any)["black_in"], `{"bits":0,"frames":0}`)
			r.same("drops", point.(map[string]any)["drops_decrypt"], "null")
		}
	}
}

// TestGaugeFalls: what a chip holds becomes less without a reset, so rates go on.
func TestGaugeFalls(t *testing.T) {
	r := newRig(t)
	for second, held := range []uint64{9, 2, 5} {
		r.fake.Count(transport.Outer, "reasm_held", held)
		r.fake.Count(transport.Outer, "rx_frames", uint64(7*second))
		r.sample(float64(second))
	}
	points := r.box("")["points"].([]any)
	r.same("samples with rates", len(points), "2")
	for _, point := range points {
		r.same("black in", point.(map[string]any)["black_in"], `{"bits":0,"frames":7}`)
	}
}

// TestOnlyWhatIsNew: a browser that says how far it is gets what came since; one that comes from
// another life of the daemon gets all.
func TestOnlyWhatIsNew(t *testing.T) {
	r := newRig(t)
	for i := range mostPoints + 10 {
		r.sample(float64(i))
	}
	for i := range mostEvents + 10 {
		r.page.history.note("expire", fmt.Sprint(i))
	}
	first := r.box("")
	count := func(got map[string]any) string {
		return fmt.Sprint(len(got["points"].([]any)), len(got["events"].([]any)), got["fresh"])
	}
	if got := count(first); got != "300 200 true" {
		t.Error(got)
	}
	next := first["next"].(string)
	if got := count(r.box(next)); got != "0 0 false" {
		t.Error(got)
	}
	r.sample(1000)
	r.page.history.note("icv", "new")
	got := r.box(next)
	if count(got) != "1 1 false" || got["events"].([]any)[0].(map[string]any)["text"] != "new" {
		t.Error(got)
	}
	for _, place := range []string{"x", "another-3", next + "9", strings.Split(next, "-")[0]} {
		if got := r.box(place); got["fresh"] != true || len(got["points"].([]any)) != mostPoints {
			t.Errorf("%s: %s", place, count(got))
		}
	}
}

// TestGuard: no other site gets at the page, by a name of its own or inside itself, and nothing can
// be changed.
func TestGuard(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/", "/page.js", "/page.css", "/uPlot.LICENSE.txt", "/icon.svg", "/api/box", "/none"} {
		got := r.ask("GET", path).Header()
		if policy := got.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
		if got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Set-Cookie") != "" || got.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, path := range []string{"/", "/api/box"} {
			if got := r.ask(method, path); got.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, got.Code)
			}
		}
	}
	for host, want := range map[string]int{
		"127.0.0.1:9775": 200, "localhost:9775": 200, "LocalHost": 200, "[::1]:9775": 200, "[::1]": 200, "192.0.2.1": 200,
		"box.example": 421, "127.0.0.1.box.example:9775": 421, "localhost.example:9775": 421, "": 421, "[localhost": 421, "0x7f000001": 421,
	} {
		for _, path := range []string{"/", "/api/box"} {
			request := httptest.NewRequest("GET", path, nil)
			request.Host = host
			answer := httptest.NewRecorder()
			r.page.Handler().ServeHTTP(answer, request)
			if answer.Code != want {
				t.Errorf("Host %q: %d, want %d", host, answer.Code, want)
			}
		}
	}
	if got := r.ask("HEAD", "/"); got.Code != http.StatusOK {
		t.Error(got.Code)
	}
}

// TestTheChipsFail: a browser is told, and the daemon ends as it does when it polls.
func TestTheChipsFail(t *testing.T) {
	r := newRig(t)
	r.fake.FailAfter = 1
	if got := r.ask("GET", "/api/box"); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "the bus is gone") {
		t.Error(got.Code, got.Body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r.fake.FailAfter = 1
	if err := r.page.Serve(context.Background(), listener); err == nil || !strings.Contains(err.Error(), "the bus is gone") {
		t.Error(err)
	}
}

// flood is a daemon with more events at once than it keeps for a reader.
type flood struct {
	Source
	channels chan (<-chan events.Event)
}

func (f flood) Watch() <-chan events.Event { return <-f.channels }

// TestServe: events come to browsers, also after more at once than are kept; the end of the daemon
// ends the page.
func TestServe(t *testing.T) {
	r := newRig(t)
	first, second := make(chan events.Event, 1), make(chan events.Event, 1)
	channels := make(chan (<-chan events.Event), 2)
	channels <- first
	channels <- second
	first <- events.Event{Kind: events.EventICV, Dropped: &events.Dropped{Reason: "dec_icv", Count: 3}}
	close(first)
	second <- events.Event{Kind: events.EventRestart}
	r.page.source = flood{r.daemon, channels}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.page.Serve(ctx, listener) }()
	var events []any
	for deadline := time.Now().Add(20 * time.Second); len(events) < 3 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		events = r.box("")["events"].([]any)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.(map[string]any)["kind"].(string))
	}
	if fmt.Sprint(kinds) != "[icv missing restart]" || !strings.HasSuffix(events[0].(map[string]any)["text"].(string), "(3 times)") {
		t.Error(events)
	}
	if answer, err := http.Get("http://" + listener.Addr().String() + "/"); err != nil || answer.StatusCode != http.StatusOK {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestReadingIsShared: many browsers read the chips no more often than one.
func TestReadingIsShared(t *testing.T) {
	r := newRig(t)
	r.load(tunnel)
	r.box("")
	r.page.holding.until = time.Now().Add(time.Hour)
	r.fake.FailAfter = 1
	for range 10 {
		r.box("")
	}
}

// TestGuardedNames: what the administrator names is this machine's own, and nothing else.
func TestGuardedNames(t *testing.T) {
	guarded := Guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "box-a.example")
	for host, want := range map[string]int{"box-a.example:9774": 200, "BOX-A.example": 200, "127.0.0.1": 200, "box-b.example": 421, "box-a.example.net": 421} {
		request := httptest.NewRequest("GET", "/metrics", nil)
		request.Host = host
		answer := httptest.NewRecorder()
		guarded.ServeHTTP(answer, request)
		if answer.Code != want {
			t.Errorf("%s: %d, want %d", host, answer.Code, want)
		}
	}
}
