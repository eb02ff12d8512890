// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sallyport/mgmt/internal/regs"
)

// listed is a configuration that has something to list under nearly every key.
const listed = `addr add 192.0.2.1/24 dev black
addr add 10.1.0.1/24 dev red
addr add fd00::1/64 dev red
link add link black name black.7 type vlan id 7
route add 10.2.0.0/16 via 192.0.2.2 dev black mtu 1400
route add 10.3.0.0/16 via inet6 fd00::9 dev red
route add default via fd00::9 dev red
route add 10.4.0.1 dev red
neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 name out/1 mode tunnel flag icmp esn replay-window 64 \
  df set tfcpad 200 dummy 300 every 5ms node 2 of 4 limit packet-soft 5 limit time-hard 900 sel src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 1000-2000 \
  aead "rfc4106(gcm(aes))" 0x000102030405060708090a0b0c0d0e0fa0a1a2a3 128
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 64 encap espinudp 4500 4500 0.0.0.0 \
  auth-trunc "hmac(sha256)" 0x101112131415161718191a1b1c1d1e1f101112131415161718191a1b1c1d1e1f 128 \
  enc "cbc(aes)" 0x201112131415161718191a1b1c1d1e1f
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 1000-2000 dir out name spd/1 flag icmp fragment-first mss tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add dst 10.9.0.0/16 dir out action block
`

// schemaOf is what the JSON of a command is checked against.
func schemaOf(t *testing.T, command string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../../schema/sallyctl.schema.json#/$defs/" + command)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// check reads JSON and holds it against a schema.
func check(t *testing.T, command, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schemaOf(t, command).Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, text)
	}
	return value
}

// lists are commands that print JSON, by their places in the schema.
var lists = map[string]string{
	"xfrm-state": "-s xfrm state list", "xfrm-policy": "-s xfrm policy list", "state-count": "xfrm state count", "policy-count": "xfrm policy count",
	"addr": "addr show", "link": "link show", "route": "route show", "neigh": "neigh show", "punt": "punt show", "reassembly": "reassembly show",
	"qos": "qos show", "skip-headers": "skip-headers show", "config": "config show", "selftest": "selftest",
}

// TestJSON: what each list prints as JSON is as the schema says, with the box alone and through a
// daemon, and has no key in it.
func TestJSON(t *testing.T) {
	w := newWorld(t)
	path := daemonOf(t, w)
	if code, _, errs, sentence := run("--daemon", path, "-batch", w.file("b", listed)); code != 0 {
		t.Fatal(code, errs, sentence)
	}
	run("--daemon", path, "punt", "set", "arp", "rate", "unlimited")
	for command, words := range lists {
		code, out, _, sentence := run(append([]string{"--daemon", path, "-j"}, strings.Fields(words)...)...)
		if code != 0 || strings.Contains(out, "0a0b0c0d") {
			t.Errorf("%s: %d %s\n%s", words, code, sentence, out)
		}
		check(t, command, out)
	}
	_, out, _, _ := run("--daemon", path, "-json", "xfrm", "state", "get", "src", "192.0.2.1", "dst", "192.0.2.2", "proto", "esp", "spi", "0x1001")
	check(t, "xfrm-state", out)
	want := `[{"name":"out/1","src":"192.0.2.1","dst":"192.0.2.2","proto":"esp","spi":4097,"reqid":1,"mode":"tunnel","replay_window":64,"flags":["icmp","esn"],"df":"set","tfcpad":200,` +
		`"dummy":{"length":300,"every_us":5000},"node":{"number":2,"of":4},"aead":{"name":"rfc4106(gcm(aes))","key_bits":160,"icv_bits":128},` +
		`"sel":{"dport":"1000-2000","dst":"10.2.0.0/16","proto":"udp","src":"10.1.0.0/16"},"lifetime":{"packet_soft":5,"add_hard_seconds":900},"seq":0,"dir":"out"}]` + "\n"
	if out != want {
		t.Errorf("%s\nwant %s", out, want)
	}
	if code, _, _, sentence := run("--daemon", path, "-j", "-batch", w.file("b", listed)); code != 2 || !strings.Contains(sentence, "-json is for one command") {
		t.Errorf("%d %s", code, sentence)
	}
}

// TestEventJSON: events come as lines of JSON.
func TestEventJSON(t *testing.T) {
	w := newWorld(t)
	if code, _, errs, sentence := run("--socket", w.socket, "-batch", w.file("b", batch)); code != 0 {
		t.Fatal(code, errs, sentence)
	}
	w.fake.Expire(1 << regs.InnerLifetimeEventBytes.LSB)
	_, out, _, _ := run("--socket", w.socket, "-j", "events")
	event := check(t, "monitor", out).(map[string]any)
	if event["event"] != "expire" || event["limit"] != "bytes" {
		t.Error(out)
	}
}

// TestKeysOfIproute2: what `ip -j` prints of the same configuration (testdata) has our keys, with
// values of the same kind, and the same values where Linux has nothing of its own to say.
func TestKeysOfIproute2(t *testing.T) {
	text, err := os.ReadFile("testdata/iproute2-6.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var theirs map[string][]map[string]any
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	theirs["route"] = append(theirs["route"], theirs["route6"]...)
	w := newWorld(t)
	path := daemonOf(t, w)
	if code, _, errs, sentence := run("--daemon", path, "-batch", w.file("b", listed)); code != 0 {
		t.Fatal(code, errs, sentence)
	}
	name := map[string]string{"addr": "ifname", "link": "ifname", "route": "dst", "neigh": "dst"}
	for command, key := range name {
		_, out, _, _ := run("--daemon", path, "-j", command, "show")
		var ours []map[string]any
		if err := json.Unmarshal([]byte(out), &ours); err != nil {
			t.Fatal(err)
		}
		for _, our := range ours {
			if our["linkinfo"] != nil {
				continue // the machine of the test data had no module for VLANs
			}
			i := slices.IndexFunc(theirs[command], func(o map[string]any) bool { return o[key] == our[key] })
			if i < 0 {
				t.Errorf("%s: iproute2 has no %v", command, our[key])
				continue
			}
			compareKeys(t, command, our, theirs[command][i])
		}
	}
}

// compareKeys holds an object's keys and kinds of values against another's.
func compareKeys(t *testing.T, where string, ours, theirs map[string]any) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		their, is := theirs[key]
		our := ours[key]
		switch o := our.(type) {
		case map[string]any:
			other, _ := their.(map[string]any)
			compareKeys(t, where+" "+key, o, other)
		case []any:
			other, isList := their.([]any)
			if !isList {
				t.Errorf("%s: %s is no list of iproute2's", where, key)
			}
			for i := range o {
				if inner, isObject := o[i].(map[string]any); isObject && i < len(other) {
					compareKeys(t, where+" "+key, inner, other[i].(map[string]any))
				}
			}
		default:
			free := key == "mtu" || key == "address" // of the machine and the box
			_, isText := our.(string)
			_, wantText := their.(string)
			if !is || isText != wantText || !free && our != their {
				t.Errorf("%s: %s is %v, iproute2 has %v", where, key, our, their)
			}
		}
	}
}
