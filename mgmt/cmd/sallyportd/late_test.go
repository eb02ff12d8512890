// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
)

// TestPairOutOfTime: certificates of a pair that are out of time, as by a clock that is not set at
// a boot, do not keep the daemon from starting. The log says so once. The box does not take the
// place of another that it cannot know. It takes certificates that become valid by themselves, and
// others at SIGHUP.
func TestPairOutOfTime(t *testing.T) {
	if isRemoted() {
		return
	}
	for name, c := range map[string]struct {
		own, trust func(*x509.Certificate)
		late       string
	}{
		"own":   {expired, valid, "box-a.pem expired on "},
		"trust": {valid, expired, "box-b.pem expired on "},
		"early": {early, valid, "box-a.pem is not valid before "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemotes(t)
			r.sign("box-a", c.own)
			r.sign("box-b", c.trust)
			r.pair()
			r.start()
			r.ready()
			dial(t, r.file("control.sock")).must(t, "xfrm policy add dst 10.9.0.0/16 dir out action block")
			const says = `msg="the boxes of the pair cannot know each other yet"`
			r.says(says, 1)
			r.says(c.late, 1)
			if name != "early" {
				r.says("its place is not taken", 1)
				r.sign("box-a", valid)
				r.sign("box-b", valid)
				r.hangUp(`msg="the configuration was read again"`)
			} else {
				r.says(`msg="the certificates of the pair are valid now"`, 1)
			}
			r.says("this box of the pair is active now", 1)
			if n := strings.Count(r.log.String(), says); n != 1 {
				t.Errorf("the log says it %d times", n)
			}
		})
	}
}

func valid(*x509.Certificate)     {}
func expired(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
func early(c *x509.Certificate)   { c.NotBefore = time.Now().Add(10 * time.Second) }

// sign makes the certificate of a box.
func (r *remotes) sign(name string, edit func(*x509.Certificate)) {
	r.Helper()
	certtest.NewAuthority(r.T, r.T.TempDir(), "boxes").Sign(r.T, r.dir, name, edit)
}

// pair makes the box one of a pair whose other box never answers.
func (r *remotes) pair() {
	r.Helper()
	text := "registers = \"unix:FOLDER/box.sock\"\n[control]\npath = \"FOLDER/control.sock\"\n[metrics]\nlisten = \"\"\n[peer]\nside = \"a\"\nlisten = \"ADDRESS\"\n" +
		"connect = \"127.0.0.2:1\"\ncertificate = \"FOLDER/box-a.pem\"\nkey = \"FOLDER/box-a.key\"\ntrust = \"FOLDER/box-b.pem\"\nname = \"box-b\"\ninterval = \"50ms\"\ndead_after = \"200ms\"\n"
	must(r.T, os.WriteFile(r.file("config"), []byte(strings.NewReplacer("FOLDER", r.dir, "ADDRESS", r.address).Replace(text)), 0o600))
}
