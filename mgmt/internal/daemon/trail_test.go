// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
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

// TestTrailOfObjects: each object that a change touched is in the log once, with what it was and
// what it is, and who asked. The daemon's own changes name no client.
func TestTrailOfObjects(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	who := fmt.Sprintf(" uid=%d gid=%d pid=%d\n", os.Getuid(), os.Getgid(), os.Getpid())
	out := `src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x00001001 reqid 1 mode tunnel replay-window 64 aead rfc4106(gcm(aes)) <redacted> 128 dir out`
	policy := "src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7 dir out action allow priority %d tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel"
	sa, spd := `object="xfrm state dst 192.0.2.2 proto esp spi 0x00001001" `, `object="xfrm policy src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7 dir out" `
	has := func(want string, count int) {
		t.Helper()
		if n := strings.Count(r.log.String(), "event=change "+want); n != count {
			t.Errorf("%d lines %s in %s", n, want, r.log)
		}
	}
	has(`object=addr before="" after="addr add 192.0.2.1/24 dev black"`+who, 1)
	has(sa+`before="" after="`+out+`"`+who, 1)
	has(spd+`before="" after="`+fmt.Sprintf(policy, 0)+`"`+who, 1)
	r.must("xfrm policy update src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7 dir out priority 9 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	has(spd+`before="`+fmt.Sprintf(policy, 0)+`" after="`+fmt.Sprintf(policy, 9)+`"`+who, 1)
	r.must("xfrm state delete dst 192.0.2.2 proto esp spi 0x1001", "addr del 192.0.2.1/24 dev black", "addr add 192.0.2.9/24 dev black")
	has(sa+`before="`+out+`" after=""`+who, 1)
	has(`object=addr before="addr add 192.0.2.1/24 dev black" after=""`+who, 1)
	r.get("advance", `,"dst":"192.0.2.1","proto":"esp","spi":8193,"number":77`)
	has(`object="sequence number of xfrm state dst 192.0.2.1 proto esp spi 0x00002001" after=77`+who, 1)
	r.fake.Reset()
	r.poll()
	has(`object="xfrm state dst 192.0.2.1 proto esp spi 0x00002001" before="src 192.0.2.2 `, 1)
	if strings.Contains(r.log.String(), keyOut[:16]) || strings.Contains(r.log.String(), keyIn[:16]) {
		t.Error("a key is in the log")
	}
	last := r.log.String()[strings.LastIndex(r.log.String(), "object=\"xfrm state"):]
	if line, _, _ := strings.Cut(last, "\n"); strings.Contains(line, "uid=") {
		t.Error(line)
	}
}

// TestReaders: on their socket queries are answered, and everything that would change something is
// refused in the same sentence.
func TestReaders(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	listener, err := net.Listen("unix", filepath.Join(r.dir, "r.sock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- r.daemon.ServeReaders(ctx, listener) }()
	defer func() { end(); <-served }()
	ask := func(request string) string {
		t.Helper()
		conn, err := net.Dial("unix", filepath.Join(r.dir, "r.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return (&line{t, conn, bufio.NewReader(conn)}).ask(`{"id":1,` + request + `}`)
	}
	for _, request := range []string{
		`"do":"batch","lines":["xfrm state list"]`, `"do":"command","words":["xfrm","policy","list"]`, `"do":"list","what":"state"`, `"do":"counters"`,
		`"do":"capabilities"`, `"do":"query-state","dst":"192.0.2.2","proto":"esp","spi":4097`, `"do":"config","verb":"show"`, `"do":"config","verb":"saved"`, `"do":"monitor"`,
	} {
		if answer := ask(request); !strings.HasPrefix(answer, `{"id":1,"ok":true`) {
			t.Errorf("%s: %s", request, answer)
		}
	}
	before := r.fake.Writes
	for _, request := range []string{
		`"do":"batch","lines":["xfrm state flush"]`, `"do":"command","words":["addr","add","10.1.0.1/24","dev","red"]`, `"do":"advance","dst":"192.0.2.2","proto":"esp","spi":4097,"number":5`,
		`"do":"alloc-spi","src":"192.0.2.2","dst":"192.0.2.1","min":256,"max":300`, `"do":"pair","verb":"switch"`, `"do":"config","verb":"save"`, `"do":"config","verb":"load"`, `"do":"config","verb":"confirm"`,
	} {
		want := `{"id":1,"ok":false,"error":"this socket is for queries alone: changes need the socket of the group that may configure the box","input":true}`
		if answer := ask(request); answer != want {
			t.Errorf("%s: %s", request, answer)
		}
	}
	if r.fake.Writes != before {
		t.Error("registers were written")
	}
}
