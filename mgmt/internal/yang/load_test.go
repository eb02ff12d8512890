// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sallyport/mgmt/internal/suite"
)

var keys = regexp.MustCompile(`,?"key":"[^"]*"`)

// withoutKeys is a document as the box shows it.
func withoutKeys(text string) string { return keys.ReplaceAllString(text, "") }

// suites is a document for each suite that the module can name, by the suite's name.
func suites() map[string]string {
	out := map[string]string{}
	for i, s := range suite.All {
		a := find(func(a algorithm) bool { return a.crypt == s.Crypt && a.auth == s.Auth })
		if a == nil {
			continue
		}
		esp := func(seed byte) string {
			key := ""
			if s.Key > 0 {
				key = fmt.Sprintf(`,"key":"%s"`, hexKey(s.Key+s.Salt, seed))
			}
			text := fmt.Sprintf(`"encryption":{"encryption-algorithm":%d%s}`, a.encryption, key)
			if s.Auth != "" {
				text += fmt.Sprintf(`,"integrity":{"integrity-algorithm":%d,"key":"%s"}`, a.integrity, hexKey(s.AuthKey, seed))
			}
			return text
		}
		out[s.Name] = documentText([]string{outbound, inbound}, []string{sadText("out", 4097, esp(byte(i)), ""), inward(sadText("in", 8193, esp(byte(100+i)), ""))})
	}
	return out
}

// variants are documents of all else that the module and the box both say.
var variants = map[string]string{
	"both":    both,
	"nothing": `{"ietf-i2nsf-ikeless:ipsec-ikeless":{}}`,
	"names and ports": documentText([]string{
		spdText("in/trans/2001:db8:123::200/2001:db8:123::100", "outbound", "10.1.0.0/16", "10.2.0.0/16", `,"inner-protocol":17,"local-ports":[{"start":1000,"end":2000}],"remote-ports":[{"start":53,"end":53}]`),
		spdText("b", "outbound", "10.1.0.0/16", "10.2.0.0/16", `,"inner-protocol":"any","local-ports":[{"start":0,"end":0}]`),
		spdText("c", "inbound", "10.2.0.0/16", "10.1.0.0/16", `,"inner-protocol":89`),
	}, nil),
	"actions": documentText([]string{
		`{"name":"pass","direction":"inbound","ipsec-policy-config":{"traffic-selector":{"local-prefix":"2001:db8:9::/48","remote-prefix":"::/0"},"processing-info":{"action":"bypass"}}}`,
		`{"name":"stop","direction":"outbound","ipsec-policy-config":{"anti-replay-window-size":128,"traffic-selector":{"local-prefix":"0.0.0.0/0","remote-prefix":"0.0.0.0/0"}}}`,
	}, nil),
	"proposals": documentText([]string{strings.Replace(outbound, `"mode":"tunnel",`, `"pfp-flag":false,"ext-seq-num":true,"seq-overflow":false,"stateful-frag-check":false,"mode":"tunnel","protocol-parameters":"esp",`+
		`"esp-algorithms":{"integrity":[12,2],"encryption":[{"id":1},{"id":2,"algorithm-type":12,"key-length":256},{"id":3,"algorithm-type":11}],"tfc-pad":false},`, 1)}, nil),
	"lifetimes": documentText([]string{outbound}, []string{strings.Replace(sadText("out", 4097, "", ""), `"mode":`,
		`"anti-replay-window-size":4096,"ext-seq-num":false,"sa-lifetime-hard":{"time":3600,"bytes":"18446744073709551614","packets":4294967295,"idle":0},"sa-lifetime-soft":{"time":3000,"packets":4000000000,"action":"replace"},"mode":`, 1)}),
	"outer headers": documentText([]string{outbound}, []string{
		sadText("set", 4097, "", `,"df-bit":"set","bypass-dscp":false,"dscp-mapping":[{"id":7,"inner-dscp":46,"outer-dscp":34},{"id":3,"inner-dscp":46},{"id":9,"outer-dscp":8}],"dscp-values":[46,0]`),
		sadText("copy", 4098, "", `,"df-bit":"copy","bypass-dscp":false,"dscp-mapping":[{"id":0}]`),
	}),
	"UDP": documentText([]string{outbound, inbound}, []string{
		strings.Replace(sadText("out", 4097, "", ""), `"mode":`, `"encapsulation-type":{"espencap":"espinudp","dport":61000,"oaddr":["10.9.8.7"]},"mode":`, 1),
		strings.Replace(inward(sadText("in", 8193, "", "")), `"mode":`, `"encapsulation-type":{"espencap":"espinudp","sport":61000},"mode":`, 1),
	}),
}

// TestRoundTrip: a box shows each document that it has loaded, but for keys. Loaded again, its
// output changes nothing.
func TestRoundTrip(t *testing.T) {
	named := suites()
	if len(named) != 11 {
		t.Errorf("%d suites of the box have numbers", len(named))
	}
	for name, text := range variants {
		named[name] = text
	}
	for name, text := range named {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, network)
			r.load(text)
			shown := r.show()
			want, got := mustRead(t, withoutKeys(text)), mustRead(t, shown)
			for _, d := range []*document{want, got} {
				for _, s := range d.sad {
					if err := s.direct(directionsOf(d.spd)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s\nis shown as\n%s", text, shown)
			}
			before := r.policies()
			r.load(shown)
			if r.show() != shown || r.policies() != before {
				t.Error("what is shown has changed something")
			}
		})
	}
}

func mustRead(t *testing.T, text string) *document {
	t.Helper()
	d, err := read([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// TestTransport: in a bridge SAs are between hosts.
func TestTransport(t *testing.T) {
	r := newRig(t, "link add br0 type bridge\nlink set dev red master br0\nlink set dev black master br0\n")
	policy := `{"name":"%s","direction":"%s","reqid":"1","ipsec-policy-config":{"traffic-selector":{%s,"inner-protocol":6},"processing-info":{"action":"protect","ipsec-sa-cfg":{"mode":"transport"}}}}`
	state := `{"name":"%s","reqid":"1","ipsec-sa-config":{"spi":%d,"traffic-selector":{%s,"inner-protocol":6},"esp-sa":{"encryption":{"encryption-algorithm":20,"key":"%s"}}}}`
	there, back := `"local-prefix":"2001:db8:123::100/128","remote-prefix":"2001:db8:123::200/128"`, `"local-prefix":"2001:db8:123::200/128","remote-prefix":"2001:db8:123::100/128"`
	r.load(documentText(
		[]string{fmt.Sprintf(policy, "in", "inbound", back), fmt.Sprintf(policy, "out", "outbound", there)},
		[]string{fmt.Sprintf(state, "out", 34501, there, hexKey(20, 1)), fmt.Sprintf(state, "in", 34502, back, hexKey(20, 2))},
	))
	shown := r.show()
	for _, part := range []string{`"mode": "transport"`, `"spi": 34502`, `"inner-protocol": 6`} {
		if !strings.Contains(shown, part) {
			t.Errorf("no %s in\n%s", part, shown)
		}
	}
	r.load(shown)
}

// TestMerge: entries are created behind the others, replaced by their names, and deleted by them.
func TestMerge(t *testing.T) {
	r := newRig(t, network+"xfrm policy add dst 10.9.0.0/16 dir out priority 70 action block\n")
	r.load(both)
	r.load(documentText([]string{instead(spdText("third", "outbound", "10.1.0.0/16", "10.3.0.0/16", ""), `"reqid":"1"`, `"reqid":"2"`)}, nil))
	if got := names(mustShown(r)); got != "out src 0.0.0.0/0 dst 10.9.0.0/16, spd/out, spd/in, third; out_4097, in_8193" {
		t.Error(got)
	}
	// another selector and another SPI under the old names; the place stays
	r.load(documentText([]string{spdText("spd/out", "outbound", "10.1.0.0/16", "10.4.0.0/16", "")}, []string{instead(sadText("out_4097", 4100, "", ""), "10.2.0.0/16", "10.4.0.0/16")}))
	d := mustShown(r)
	if got := names(d); got != "out src 0.0.0.0/0 dst 10.9.0.0/16, spd/out, spd/in, third; in_8193, out_4097" || d.spd[1].sel.Dst.String() != "10.4.0.0/16" || d.sad[1].spi != 4100 {
		t.Error(got, d.spd[1].sel)
	}
	before := r.show()
	for text, reason := range map[string]string{
		documentText([]string{spdText("other", "outbound", "10.1.0.0/16", "10.3.0.0/16", "")}, nil):                                                                                                              `spd/spd-entry[name='other']: the box has this direction and traffic-selector as the entry "third"`,
		documentText(nil, []string{sadText("other", 4100, "", "")}):                                                                                                                                              `sad/sad-entry[name='other']: the box has this SPI and destination as the entry "out_4097"`,
		documentText(nil, []string{withoutKeys(sadText("new", 4101, "", ""))}):                                                                                                                                   "sad-entry[name='new']/ipsec-sa-config/esp-sa/encryption/key: is missing",
		documentText([]string{outbound}, []string{strings.Replace(sadText("x", 5000, "", ""), `"reqid":"1"`, `"reqid":"9"`, 1)}):                                                                                 "sad-entry[name='x']: no policy has its reqid",
		documentText(nil, []string{sadText("y", 5000, `"encryption":{"encryption-algorithm":20,"key":"01:02"}`, "")}):                                                                                            "sad-entry[name='y']: the key of rfc4106(gcm(aes)) has 2 bytes",
		documentText(nil, []string{instead(sadText("y", 5000, `"encryption":{"encryption-algorithm":20,"key":"`+hexKey(20, 4100>>8^4100&0xff)+`"}`, ""), "10.2.0.0/16", "10.4.0.0/16")}):                         "sad-entry[name='y']: ",
		documentText([]string{strings.Replace(spdText("swapped", "inbound", "10.1.0.0/16", "10.7.0.0/16", ""), `"local":"192.0.2.2","remote":"192.0.2.1"`, `"local":"192.0.2.1","remote":"192.0.2.2"`, 1)}, nil): "/ipsec-sa-cfg/tunnel: local is the source",
		documentText([]string{strings.Replace(spdText("in", "inbound", "10.1.0.0/16", "10.7.0.0/16", ""), `"local":"192.0.2.2","remote":"192.0.2.1"`, `"local":"192.0.2.1","remote":"192.0.2.1"`, 1)},
			[]string{strings.Replace(sadText("z", 5001, "", ""), `"remote":"192.0.2.2"`, `"remote":"192.0.2.1"`, 1)}): "src and dst are the same address",
	} {
		_, err := Load(t.Context(), r, []byte(text))
		var refusal *Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant %s", err, reason)
		}
	}
	if r.show() != before {
		t.Error("a refused document has changed something")
	}
	if _, err := Delete(t.Context(), r, "sad", []string{"in_8193", "none"}); err == nil || !strings.Contains(err.Error(), "sad-entry[name='none']: the box has no such entry") {
		t.Error(err)
	}
	for list, name := range map[string]string{"sad": "in_8193", "spd": "out src 0.0.0.0/0 dst 10.9.0.0/16"} {
		if _, err := Delete(t.Context(), r, list, []string{name}); err != nil {
			t.Error(err)
		}
	}
	if got := names(mustShown(r)); got != "spd/out, spd/in, third; out_4097" {
		t.Error(got)
	}
}

func mustShown(r *rig) *document {
	r.Helper()
	return mustRead(r.T, r.show())
}

func names(d *document) string {
	var spd, sad []string
	for _, p := range d.spd {
		spd = append(spd, p.name)
	}
	for _, s := range d.sad {
		sad = append(sad, s.name)
	}
	return strings.Join(spd, ", ") + "; " + strings.Join(sad, ", ")
}

// TestAmbiguous: an SA whose reqid and ends are those of policies of both directions has none.
func TestAmbiguous(t *testing.T) {
	r := newRig(t, "")
	in := strings.Replace(spdText("in", "inbound", "10.1.0.0/16", "10.2.0.0/16", ""), `"local":"192.0.2.2","remote":"192.0.2.1"`, `"local":"192.0.2.1","remote":"192.0.2.2"`, 1)
	_, err := Load(t.Context(), r, []byte(documentText([]string{outbound, in}, []string{sadText("a", 4097, "", "")})))
	if err == nil || !strings.Contains(err.Error(), "sad-entry[name='a']: inbound and outbound policies") {
		t.Error(err)
	}
	if shown := r.show(); names(mustRead(t, shown)) != "; " {
		t.Error(shown)
	}
}

// TestLeftOut: what the module cannot say is left out and named; names that two objects have are
// those of the first.
func TestLeftOut(t *testing.T) {
	key := func(spi int) string { return strings.ReplaceAll(hexKey(20, byte(spi)), ":", "") }
	state := func(spi int, more string) string {
		return fmt.Sprintf("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x%x reqid 1 mode tunnel replay-window 64 %s aead \"rfc4106(gcm(aes))\" 0x%s 128\n", spi, more, key(spi))
	}
	tunnel := " tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n"
	r := newRig(t, network+
		state(0x1001, "name twice")+state(0x1002, "name twice")+state(0x1003, "flag noecn")+state(0x1004, "tfcpad 100")+state(0x1009, "if_id 7")+
		state(0x1005, "limit time-use-hard 5")+state(0x1006, "limit packet-hard 4294967296")+state(0x1007, "sel proto ipv6-icmp type 5 src ::/0")+
		strings.Replace(state(0x1008, ""), "gcm(aes)", "gcm(sm4)", 1)+
		"xfrm policy add dst 10.2.0.0/16 dir out"+tunnel+
		"xfrm policy add dst 10.3.0.0/16,10.9.0.0/16 dir out"+tunnel+
		"xfrm policy add dst 10.4.0.0/16 dir out action punt\nxfrm policy add dst 10.66.0.0/16 dir out action reject\nxfrm policy add dst 10.5.0.0/16 proto icmp type 8 dir out action block\n"+
		"xfrm policy add dst 10.6.0.0/16 dir out flag fragment-first"+tunnel+
		"xfrm policy add dst 10.11.0.0/16 dir out flag mss"+tunnel+
		"xfrm policy add dst 10.12.0.0/16 dir out if_id 7"+tunnel+
		"xfrm policy add dst 10.7.0.0/16 proto udp dport opaque dir out action block\nxfrm policy add dst 10.8.0.0/16 proto udp dport 0-0 dir out action block\n"+
		"xfrm policy add dst 10.1.0.0/16 dev black dir in action block\n")
	text, leftOut, err := Show(t.Context(), r, true)
	r.must(err)
	if got := names(mustRead(t, regexp.MustCompile(`(?s),\s*"ipsec-sa-state": \{.*?\}\s*\}`).ReplaceAllString(string(text), ""))); got != "out src 0.0.0.0/0 dst 10.2.0.0/16; twice, esp 192.0.2.2 0x00001002" {
		t.Error(got)
	}
	all := strings.Join(leftOut, "\n")
	for _, part := range []string{
		"SA esp 192.0.2.2 0x00001003 is left out: the module cannot say flag noecn", "0x00001004 is left out: the module cannot say tfcpad",
		"0x00001009 is left out: the module cannot say if_id 0x7", "policy out src 0.0.0.0/0 dst 10.12.0.0/16 is left out: the module cannot say if_id 0x7",
		"0x00001005 is left out: the module cannot say limits in time since the first use", "0x00001006 is left out: the module cannot say limits of more than 2^32 - 1 packets",
		"0x00001007 is left out: the module cannot say where types", "0x00001008 is left out: the module cannot say the algorithm rfc4106(gcm(sm4))",
		"policy out src 0.0.0.0/0 dst 10.3.0.0/16,10.9.0.0/16 is left out: the module cannot say a list", "cannot say action punt", "cannot say action reject", "cannot say flag fragment-first", "cannot say flag mss", "cannot say opaque", "cannot say the port 0", "cannot say dev black",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no %q in\n%s", part, all)
		}
	}
	if len(leftOut) != 17 || !strings.Contains(string(text), `"sa-lifetime-current"`) {
		t.Errorf("%d\n%s\n%s", len(leftOut), all, text)
	}
}
