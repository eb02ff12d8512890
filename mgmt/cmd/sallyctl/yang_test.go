// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// yangDocument is a policy and an SA of the module of RFC 9061.
const yangDocument = `{"ietf-i2nsf-ikeless:ipsec-ikeless":{
  "spd":{"spd-entry":[{"name":"out/1","direction":"outbound","reqid":"1","ipsec-policy-config":{
    "traffic-selector":{"local-prefix":"10.1.0.0/16","remote-prefix":"10.2.0.0/16"},
    "processing-info":{"action":"protect","ipsec-sa-cfg":{"mode":"tunnel","tunnel":{"local":"192.0.2.1","remote":"192.0.2.2"}}}}}]},
  "sad":{"sad-entry":[{"name":"out/1/4097","reqid":"1","ipsec-sa-config":{"spi":4097,
    "traffic-selector":{"local-prefix":"10.1.0.0/16","remote-prefix":"10.2.0.0/16"},
    "mode":"tunnel","tunnel":{"local":"192.0.2.1","remote":"192.0.2.2"},
    "esp-sa":{"encryption":{"encryption-algorithm":20,"key":"00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:a0:a1:a2:a3"}}}}]}}}
`

// TestYANG: a document goes into a box and, without its keys, out of it; entries go by their names.
func TestYANG(t *testing.T) {
	w := newWorld(t)
	path := daemonOf(t, w)
	does := func(args ...string) string {
		t.Helper()
		code, out, errs, sentence := run(append([]string{"--daemon", path}, args...)...)
		if code != 0 || errs != "" {
			t.Fatalf("%v: %d %s%s", args, code, sentence, errs)
		}
		return out
	}
	does("yang", "load", w.file("document", yangDocument))
	shown := does("yang", "show")
	if strings.Contains(shown, "key") || !strings.Contains(shown, `"name": "out/1/4097"`) || strings.Contains(shown, "current") {
		t.Error(shown)
	}
	if out := does("xfrm", "state", "list"); !strings.Contains(out, "\tname out/1/4097\n") {
		t.Error(out)
	}
	does("yang", "load", w.file("shown", shown))
	if out := does("-s", "yang", "show"); !strings.Contains(out, `"sa-lifetime-current"`) {
		t.Error(out)
	}
	bad := strings.Replace(strings.Replace(yangDocument, "4097", "4098", -1), `"mode":"tunnel","tunnel"`, `"seq-overflow":true,"mode":"tunnel","tunnel"`, 2)
	for args, want := range map[string]string{
		"yang load " + w.file("bad", bad):       "/ietf-i2nsf-ikeless:ipsec-ikeless/spd/spd-entry[name='out/1']/ipsec-policy-config/processing-info/ipsec-sa-cfg/seq-overflow: a number",
		"yang load " + w.dir + "/none":          "cannot read " + w.dir + "/none",
		"yang load":                             "yang load takes one file",
		"yang delete sad":                       "yang delete takes spd or sad and names",
		"yang delete sa x":                      `yang delete takes spd or sad, not "sa"`,
		"yang delete sad out/1/4097 out/1/4099": "sad-entry[name='out/1/4099']: the box has no such entry",
		"yang frob":                             "unknown command",
	} {
		if code, out, _, sentence := run(append([]string{"--daemon", path}, strings.Fields(args)...)...); code != 2 || out != "" || !strings.Contains(sentence, want) || strings.Contains(sentence, "\n") {
			t.Errorf("%s: %d %s", args, code, sentence)
		}
	}
	if again := does("yang", "show"); again != shown {
		t.Errorf("a refusal has changed\n%s\ninto\n%s", shown, again)
	}
	does("yang", "delete", "spd", "out/1")
	does("yang", "delete", "sad", "out/1/4097")
	if out := does("yang", "show"); strings.Contains(out, "name") {
		t.Error(out)
	}
	does("-batch", w.file("b", "xfrm policy add dst 10.9.0.0/16 dir out action punt\n"))
	if code, _, errs, _ := run("--daemon", path, "yang", "show"); code != 0 || errs != "note: the policy out src 0.0.0.0/0 dst 10.9.0.0/16 is left out: the module cannot say action punt\n" {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, _, sentence := run("--socket", newWorld(t).socket, "yang", "show"); code != 2 || !strings.Contains(sentence, "yang is of sallyportd") {
		t.Errorf("%d %s", code, sentence)
	}
}
