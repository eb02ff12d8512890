// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/api/client"
	"sallyport/mgmt/internal/fakebox"
)

// scanned says that the test's process is the daemon whose memory is read.
const scanned = "SALLYPORT_TEST_MEMORY"

// suites are those whose keys are looked for: each way that keys become rows.
var suites = []struct {
	words string // of the SA; K is a key of so many bytes, A that of its HMAC
	key   int
	auth  int
}{
	{"aead 'rfc4106(gcm(aes))' K 128", 36, 0},
	{`aead "rfc4106(gcm(sm4))" K 128`, 20, 0},
	{"aead rfc7539esp(chacha20,poly1305) K 128", 36, 0},
	{"auth-trunc hmac(sha256) A 128 enc cbc(aes) K", 32, 32},
}

// TestNoKeysInMemory: a second behind their installation the daemon's memory holds no key, as
// bytes, as digits or as the words of a row, whether it came by the control socket or sealed by the
// API, in one line or in several.
func TestNoKeysInMemory(t *testing.T) {
	if path := os.Getenv(scanned); path != "" {
		root := newRoot()
		root.SetArgs([]string{"--config", path})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	registers, err := net.Listen("unix", filepath.Join(dir, "box.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer registers.Close()
	go fakebox.New(fakebox.Small).Serve(registers)
	config := filepath.Join(dir, "config")
	text := fmt.Sprintf("registers = \"unix:%s/box.sock\"\n[control]\npath = \"%s/control.sock\"\n", dir, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon := exec.Command(os.Args[0], "-test.run=^TestNoKeysInMemory$")
	daemon.Env = append(os.Environ(), scanned+"="+config)
	daemon.Stderr = log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	}()
	control := dial(t, filepath.Join(dir, "control.sock"))
	sealed := client.Dial(filepath.Join(dir, "api.sock"))
	defer sealed.Close()
	keys := map[string][]byte{}
	var together strings.Builder
	for i, s := range suites {
		for way, ends := range []string{"src 192.0.2.1 dst 192.0.2.2", "src 192.0.2.2 dst 192.0.2.1"} {
			words := s.words
			for letter, size := range map[string]int{"K": s.key, "A": s.auth} {
				key := keyOf(i, way, letter, size)
				if size > 0 {
					keys[fmt.Sprintf("%s of %s, way %d", letter, s.words, way)] = key[:16]
				}
				words = strings.Replace(words, " "+letter, " 0x"+hex.EncodeToString(key), 1)
			}
			line := fmt.Sprintf("xfrm state add %s proto esp spi %d reqid %d mode tunnel dir %s replay-window 64 %s", ends, 0x1000+2*i+way, i+1, []string{"out", "in"}[way], words)
			switch i % 3 {
			case 0:
				control.must(t, line)
			case 1:
				words := strings.ReplaceAll(strings.ReplaceAll(line, `"`, ""), " ", "\n") + "\n"
				if _, err := sealed.SealedCommand(t.Context(), []byte(words), nil); err != nil {
					t.Fatal(err)
				}
			case 2:
				together.WriteString(line + "\n")
			}
		}
	}
	if _, err := sealed.SealedBatch(t.Context(), "f", []byte(together.String())); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	memory := memoryOf(t, daemon.Process.Pid)
	for name, key := range keys {
		swapped := make([]byte, len(key))
		for i := 0; i < len(key); i += 4 {
			binary.BigEndian.PutUint32(swapped[i:], binary.LittleEndian.Uint32(key[i:]))
		}
		for form, bytes := range map[string][]byte{"bytes": key, "digits": []byte(hex.EncodeToString(key)), "words": swapped} {
			if n := count(memory, bytes); n > 0 {
				t.Errorf("the %s of %s are %d times in memory", form, name, n)
			}
		}
	}
	if info, err := log.Stat(); err != nil || info.Size() == 0 || len(memory) == 0 {
		t.Error("nothing was read of a daemon")
	}
}

// keyOf is a key that stands nowhere else.
func keyOf(i, way int, letter string, size int) []byte {
	key := make([]byte, size)
	for n := range key {
		key[n] = byte(n*n*7 + n*31 + i*53 + way*101 + int(letter[0])*11 + 5)
	}
	return key
}

// memoryOf reads all that a process can write to.
func memoryOf(t *testing.T, pid int) (regions [][]byte) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Skipf("the daemon's memory is hidden: run as root (%v)", err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Skipf("the daemon's memory is hidden: run as root (%v)", err)
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") {
			continue
		}
		const piece = 1 << 20
		region := make([]byte, 0, to-from)
		for at := from; at < to; at += piece {
			part := make([]byte, min(piece, to-at))
			if n, err := memory.ReadAt(part, at); n > 0 || err == nil {
				region = append(region, part[:n]...)
			}
		}
		regions = append(regions, region)
	}
	return regions
}

func count(regions [][]byte, what []byte) (n int) {
	for _, region := range regions {
		n += bytes.Count(region, what)
	}
	return n
}

// requests are those of a client.
type requests struct {
	conn    net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, path string) *requests {
	t.Helper()
	return dialWhile(t, path, nil)
}

// dialWhile gives nil if the daemon has ended before it answers.
func dialWhile(t *testing.T, path string, ended <-chan struct{}) *requests {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return &requests{conn, bufio.NewReader(conn)}
		}
		select {
		case <-ended:
			return nil
		default:
		}
		if time.Now().After(end) {
			t.Fatal(errors.Join(errors.New("the daemon does not answer"), err))
		}
	}
}

// must loads a line, from one buffer that is cleared.
func (r *requests) must(t *testing.T, line string) {
	t.Helper()
	text, _ := json.Marshal(map[string]any{"id": 1, "do": "batch", "lines": []string{line}})
	if _, err := r.conn.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := r.answers.ReadString('\n')
	if err != nil || !strings.Contains(answer, `"ok":true`) {
		t.Fatalf("%s %v", answer, err)
	}
}
