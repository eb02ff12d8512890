// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"sallyport/mgmt/api"
)

// instead puts a text in the place of another one, which must be there.
func instead(text, old, new string) string {
	if !strings.Contains(text, old) {
		panic(old + " is not in " + text)
	}
	return strings.Replace(text, old, new, 1)
}

func spdWith(old, new string) string { return documentText([]string{instead(outbound, old, new)}, nil) }

func cfgWith(nodes string) string { return spdWith(`"mode":"tunnel"`, nodes+`,"mode":"tunnel"`) }

func sadWith(old, new string) string {
	return documentText([]string{outbound}, []string{instead(sadText("a", 4097, "", ""), old, new)})
}

func saWith(nodes string) string { return sadWith(`"mode":"tunnel"`, nodes+`,"mode":"tunnel"`) }

func espWith(esp string) string {
	return documentText([]string{outbound}, []string{sadText("a", 4097, esp, "")})
}

func tunnelWith(nodes string) string {
	return documentText([]string{outbound}, []string{sadText("a", 4097, "", ","+nodes)})
}

const (
	spdPath    = "/ietf-i2nsf-ikeless:ipsec-ikeless/spd/spd-entry[name='spd/out']"
	policyPath = spdPath + "/ipsec-policy-config"
	cfgPath    = policyPath + "/processing-info/ipsec-sa-cfg"
	sadPath    = "/ietf-i2nsf-ikeless:ipsec-ikeless/sad/sad-entry[name='a']"
	saPath     = sadPath + "/ipsec-sa-config"
)

type refusedDocument struct {
	text, path, reason string
	invalid            bool // by the module
}

// refused are documents that the module allows and the box cannot do, one for each such node.
var refused = map[string]refusedDocument{
	"reqid":                  {text: spdWith(`"reqid":"1"`, `"reqid":"4294967296"`), path: spdPath + "/reqid", reason: "write at most 4294967295"},
	"reqid of an SA":         {text: sadWith(`"reqid":"1"`, `"reqid":"4294967296"`), path: sadPath + "/reqid", reason: "write at most 4294967295"},
	"name":                   {text: spdWith(`"spd/out"`, `"a b"`), path: "/ietf-i2nsf-ikeless:ipsec-ikeless/spd/spd-entry[name='a b']/name", reason: "visible ASCII"},
	"window of an SPD entry": {text: spdWith(`{"traffic`, `{"anti-replay-window-size":32,"traffic`), path: policyPath + "/anti-replay-window-size", reason: "64 to 4096"},
	"inner-protocol":         {text: spdWith(`"remote-prefix"`, `"inner-protocol":0,"remote-prefix"`), path: policyPath + "/traffic-selector/inner-protocol", reason: "hop-by-hop"},
	"two ranges":             {text: spdWith(`"remote-prefix"`, `"inner-protocol":6,"local-ports":[{"start":1,"end":2},{"start":4,"end":5}],"remote-prefix"`), path: policyPath + "/traffic-selector/local-ports", reason: "an entry for each range"},
	"ICMP":                   {text: spdWith(`"remote-prefix"`, `"inner-protocol":1,"remote-ports":[{"start":8,"end":8}],"remote-prefix"`), path: policyPath + "/traffic-selector/remote-ports", reason: "type and which the code"},
	"ports of GRE":           {text: spdWith(`"remote-prefix"`, `"inner-protocol":47,"remote-ports":[{"start":8,"end":8}],"remote-prefix"`), path: policyPath + "/traffic-selector/remote-ports", reason: "no ports in protocol 47"},
	"versions":               {text: spdWith(`"10.2.0.0/16"`, `"2001:db8::/32"`), path: policyPath + "/traffic-selector/remote-prefix", reason: "IP version"},
	"pfp-flag":               {text: cfgWith(`"pfp-flag":true`), path: cfgPath + "/pfp-flag", reason: "write false"},
	"seq-overflow":           {text: cfgWith(`"seq-overflow":true`), path: cfgPath + "/seq-overflow", reason: "write false"},
	"fragments":              {text: cfgWith(`"stateful-frag-check":true`), path: cfgPath + "/stateful-frag-check", reason: "write false"},
	"tfc-pad":                {text: cfgWith(`"esp-algorithms":{"tfc-pad":true}`), path: cfgPath + "/esp-algorithms/tfc-pad", reason: "tfcpad of sallyctl"},
	"3DES proposed":          {text: cfgWith(`"esp-algorithms":{"encryption":[{"id":1,"algorithm-type":3}]}`), path: cfgPath + "/esp-algorithms/encryption[1]/algorithm-type", reason: "does not have encryption algorithm 3"},
	"CBC of 192 bits":        {text: cfgWith(`"esp-algorithms":{"encryption":[{"id":1,"algorithm-type":12,"key-length":192}]}`), path: cfgPath + "/esp-algorithms/encryption[1]/key-length", reason: "keys of 192 bits"},
	"MD5 proposed":           {text: cfgWith(`"esp-algorithms":{"integrity":[1]}`), path: cfgPath + "/esp-algorithms/integrity[1]", reason: "does not have integrity algorithm 1"},
	"tunnel's versions":      {text: spdWith(`"remote":"192.0.2.2"`, `"remote":"2001:db8::2"`), path: cfgPath + "/tunnel/remote", reason: "IP version"},
	"zone":                   {text: spdWith(`"remote":"192.0.2.2"`, `"remote":"192.0.2.2%eth0"`), path: cfgPath + "/tunnel/remote", reason: "remove"},

	"SPI":               {text: sadWith(`"spi":4097`, `"spi":255`), path: saPath + "/spi", reason: "reserved"},
	"overflow of an SA": {text: saWith(`"seq-overflow":true`), path: saPath + "/seq-overflow", reason: "repeat a nonce"},
	"window below":      {text: saWith(`"anti-replay-window-size":63`), path: saPath + "/anti-replay-window-size", reason: "64 to 4096"},
	"window above":      {text: saWith(`"anti-replay-window-size":4097`), path: saPath + "/anti-replay-window-size", reason: "64 to 4096"},
	"3DES":              {text: espWith(`"encryption":{"encryption-algorithm":3,"key":"01"}`), path: saPath + "/esp-sa/encryption/encryption-algorithm", reason: "write 20 (AES-GCM)"},
	"SHA-2 of 512 bits": {text: espWith(`"integrity":{"integrity-algorithm":14,"key":"01"}`), path: saPath + "/esp-sa/integrity/integrity-algorithm", reason: "does not have integrity algorithm 14"},
	"IV":                {text: espWith(`"encryption":{"encryption-algorithm":20,"iv":"01"}`), path: saPath + "/esp-sa/encryption/iv", reason: "makes the IVs itself"},
	"AEAD with a key":   {text: espWith(`"encryption":{"encryption-algorithm":20},"integrity":{"key":"01"}`), path: saPath + "/esp-sa/integrity/key", reason: "authenticates by itself"},
	"no authentication": {text: espWith(`"integrity":{"integrity-algorithm":0}`), path: saPath + "/esp-sa/integrity/integrity-algorithm", reason: "integrity algorithm 0"},
	"idle":              {text: saWith(`"sa-lifetime-hard":{"idle":5}`), path: saPath + "/sa-lifetime-hard/idle", reason: "no limit on idle SAs"},
	"idle, soft":        {text: saWith(`"sa-lifetime-soft":{"idle":5}`), path: saPath + "/sa-lifetime-soft/idle", reason: "no limit on idle SAs"},
	"clear":             {text: saWith(`"sa-lifetime-soft":{"action":"terminate-clear"}`), path: saPath + "/sa-lifetime-soft/action", reason: "write replace"},
	"hold":              {text: saWith(`"sa-lifetime-soft":{"action":"terminate-hold"}`), path: saPath + "/sa-lifetime-soft/action", reason: "write replace"},
	"TCP":               {text: saWith(`"encapsulation-type":{"espencap":"espintcp"}`), path: saPath + "/encapsulation-type/espencap", reason: "ESP into TCP"},
	"two oaddr":         {text: saWith(`"encapsulation-type":{"espencap":"espinudp","oaddr":["10.0.0.1","10.0.0.2"]}`), path: saPath + "/encapsulation-type/oaddr", reason: "the box keeps one"},
	"DSCPs left":        {text: tunnelWith(`"bypass-dscp":false,"dscp-mapping":[{"id":1,"inner-dscp":4,"outer-dscp":5}]`), path: saPath + "/tunnel/dscp-mapping", reason: "a last entry without inner-dscp"},
	"no mapping":        {text: tunnelWith(`"bypass-dscp":false`), path: saPath + "/tunnel/dscp-mapping", reason: "a last entry without inner-dscp"},
	"network in transport mode": {text: documentText(nil, []string{`{"name":"a","ipsec-sa-config":{"spi":256,"traffic-selector":{"local-prefix":"10.1.0.0/16","remote-prefix":"10.2.0.1/32"},"esp-sa":{"encryption":{"encryption-algorithm":20}}}}`}),
		path: saPath + "/traffic-selector/local-prefix", reason: "one address, with /32"},

	"state": {text: sadWith(`"ipsec-sa-config"`, `"ipsec-sa-state":{"sa-lifetime-current":{"time":5}},"ipsec-sa-config"`), path: sadPath + "/ipsec-sa-state", reason: "is what the box reports", invalid: true},
}

// TestRefused: what the module can say and the box cannot is refused in one sentence, with the path
// of the node.
func TestRefused(t *testing.T) {
	for name, test := range refused {
		_, err := read([]byte(test.text))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Path != test.path || !strings.Contains(refusal.Reason, test.reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s: %s", name, err, test.path, test.reason)
		}
	}
}

// TestInboundDSCP: SAs are chosen by DSCP outbound alone; the direction is that of the policies.
func TestInboundDSCP(t *testing.T) {
	d := mustRead(t, documentText([]string{inbound}, []string{inward(sadText("a", 4097, "", `,"dscp-values":[46]`))}))
	if err := d.sad[0].direct(directionsOf(d.spd)); err == nil || !strings.HasPrefix(err.Error(), saPath+"/tunnel/dscp-values: ") {
		t.Error(err)
	}
}

// invalid are documents that the module does not allow, a few for each kind of rule.
var invalid = func() map[string]string {
	out := map[string]string{
		"no object":                 `[]`,
		"another module":            `{"ietf-i2nsf-ike:ipsec-ike":{}}`,
		"a name without its module": `{"ipsec-ikeless":{}}`,
		"an unknown node":           `{"ietf-i2nsf-ikeless:ipsec-ikeless":{"pad":{}}}`,
		"a name twice":              documentText([]string{outbound, outbound}, nil),
		"an SA's name twice":        documentText(nil, []string{sadText("a", 4097, "", ""), sadText("a", 4098, "", "")}),
		"no direction":              spdWith(`"direction":"outbound",`, ""),
		"a wrong direction":         spdWith(`"outbound"`, `"out"`),
		"no name":                   spdWith(`"name":"spd/out",`, ""),
		"no local-prefix":           spdWith(`"local-prefix":"10.1.0.0/16",`, ""),
		"no traffic-selector":       documentText([]string{`{"name":"a","direction":"inbound","ipsec-policy-config":{}}`}, nil),
		"an address as prefix":      spdWith(`10.1.0.0/16`, `10.1.0.0`),
		"a prefix too long":         spdWith(`10.1.0.0/16`, `10.1.0.0/33`),
		"reqid as a number":         spdWith(`"reqid":"1"`, `"reqid":1`),
		"reqid too large":           spdWith(`"reqid":"1"`, `"reqid":"18446744073709551616"`),
		"a negative reqid":          spdWith(`"reqid":"1"`, `"reqid":"-1"`),
		"a wrong protocol":          spdWith(`"remote-prefix"`, `"inner-protocol":"tcp","remote-prefix"`),
		"a protocol too large":      spdWith(`"remote-prefix"`, `"inner-protocol":256,"remote-prefix"`),
		"end below start":           spdWith(`"remote-prefix"`, `"local-ports":[{"start":5,"end":4}],"remote-prefix"`),
		"a port without end":        spdWith(`"remote-prefix"`, `"local-ports":[{"start":5}],"remote-prefix"`),
		"a port too large":          spdWith(`"remote-prefix"`, `"local-ports":[{"start":5,"end":65536}],"remote-prefix"`),
		"a wrong action":            spdWith(`"protect"`, `"encrypt"`),
		"an SA beside bypass":       spdWith(`"protect"`, `"bypass"`),
		"no tunnel":                 spdWith(`,"tunnel":{"local":"192.0.2.1","remote":"192.0.2.2"}`, ""),
		"no remote":                 spdWith(`,"remote":"192.0.2.2"`, ""),
		"a tunnel beside transport": spdWith(`"mode":"tunnel"`, `"mode":"transport"`),
		"a wrong mode":              spdWith(`"mode":"tunnel"`, `"mode":"beet"`),
		"AH":                        cfgWith(`"protocol-parameters":"ah"`),
		"a boolean as text":         cfgWith(`"pfp-flag":"true"`),
		"an id twice":               cfgWith(`"esp-algorithms":{"encryption":[{"id":1},{"id":1}]}`),
		"an encryption without id":  cfgWith(`"esp-algorithms":{"encryption":[{}]}`),
		"an algorithm too large":    cfgWith(`"esp-algorithms":{"integrity":[65536]}`),
		"an algorithm twice":        cfgWith(`"esp-algorithms":{"integrity":[12,12]}`),
		"an algorithm of 2.5":       cfgWith(`"esp-algorithms":{"integrity":[2.5]}`),
		"no SPI":                    sadWith(`"spi":4097,`, ""),
		"an SPI too large":          sadWith(`4097`, `4294967296`),
		"an SPI as text":            sadWith(`4097`, `"4097"`),
		"a key of odd digits":       espWith(`"encryption":{"encryption-algorithm":20,"key":"012"}`),
		"a key without colons":      espWith(`"encryption":{"encryption-algorithm":20,"key":"0102"}`),
		"a key with g":              espWith(`"encryption":{"encryption-algorithm":20,"key":"0g"}`),
		"a key with a colon behind": espWith(`"encryption":{"encryption-algorithm":20,"key":"01:"}`),
		"bytes as a number":         saWith(`"sa-lifetime-hard":{"bytes":5}`),
		"seconds too many":          saWith(`"sa-lifetime-hard":{"time":4294967296}`),
		"an action of a hard limit": saWith(`"sa-lifetime-hard":{"action":"replace"}`),
		"a wrong df-bit":            tunnelWith(`"df-bit":"inherit"`),
		"a mapping beside a copy":   tunnelWith(`"dscp-mapping":[{"id":1}]`),
		"a mapping twice":           tunnelWith(`"bypass-dscp":false,"dscp-mapping":[{"id":1},{"id":1}]`),
		"a DSCP too large":          tunnelWith(`"dscp-values":[64]`),
		"a DSCP twice":              tunnelWith(`"dscp-values":[4,4]`),
		"a wrong encapsulation":     saWith(`"encapsulation-type":{"espencap":"espintls"}`),
		"null":                      saWith(`"anti-replay-window-size":null`),
	}
	for name, text := range map[string]string{"no JSON": "<ipsec-ikeless/>", "no end": both[:len(both)-1], "nothing": ""} {
		out[name] = text
	}
	return out
}()

// TestNotOfTheModule: each such document is refused in one sentence.
func TestNotOfTheModule(t *testing.T) {
	documents := maps.Clone(invalid)
	documents["no document"], documents["more behind"] = "{}", both+"{}" // libyang takes them
	for name, text := range documents {
		if _, err := read([]byte(text)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBounds: the bounds of a document, at and above each.
func TestBounds(t *testing.T) {
	empty := `{"ietf-i2nsf-ikeless:ipsec-ikeless":{}}`
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	list := func(values int) string { return "[" + strings.Repeat("0,", values-2) + "0]" }
	for _, test := range []struct {
		text   string
		reason string // empty: as JSON it is read
	}{
		{empty + strings.Repeat(" ", MaxDocument-len(empty)), ""},
		{empty + strings.Repeat(" ", MaxDocument-len(empty)+1), "the document has 4194305 bytes, more than 4194304: split it"},
		{nested(MaxDepth + 1), ""},
		{nested(MaxDepth + 2), "the document is more than 16 levels deep"},
		{list(MaxValues), ""},
		{list(MaxValues + 1), "more than 262144 values: split it"},
		{`{"a":1,"a":2}`, `an object has the member "a" twice`},
		{"\"\xff\"", "not UTF-8"},
	} {
		_, err := parseJSON([]byte(test.text))
		if test.reason == "" && err != nil || test.reason != "" && (err == nil || !strings.Contains(err.Error(), test.reason)) {
			t.Errorf("%.40s: %v, want %q", test.text, err, test.reason)
		}
	}
	var sad []string
	for i := range 3000 {
		sad = append(sad, sadText(fmt.Sprintf("%0128d", i), 0x1000+i, "", ""))
	}
	d := mustRead(t, documentText([]string{outbound}, sad))
	b := newBatch()
	if err := b.merge(d, &contents{}); err == nil || !strings.Contains(err.Error(), "more than one request of 1 MiB: split it") {
		t.Error(err)
	}
	if cap(b.text) != api.MaxMessage {
		t.Error("the lines have grown, and left keys behind")
	}
}
