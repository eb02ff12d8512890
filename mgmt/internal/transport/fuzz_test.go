// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"sallyport/mgmt/internal/regs"
)

var errScriptEnds = errors.New("the script has ended")

// script answers reads of registers with its words, one after the other.
type script struct{ words []byte }

func (s *script) Do(ops []Op) error {
	for i := range ops {
		if ops[i].Write {
			continue
		}
		if len(s.words) < 4 {
			return errScriptEnds
		}
		ops[i].Data, s.words = binary.LittleEndian.Uint32(s.words), s.words[4:]
	}
	return nil
}

func (s *script) Wait(time.Duration) error { return nil }
func (s *script) Close() error             { return nil }

// FuzzMailbox: whatever the registers of a mailbox say, it gives frames of a port, no longer than
// one may be, until the script ends.
func FuzzMailbox(f *testing.F) {
	word := func(out []byte, words ...uint32) []byte {
		for _, w := range words {
			out = binary.LittleEndian.AppendUint32(out, w)
		}
		return out
	}
	state := func(bytes uint32, last bool) uint32 {
		out := uint32(1)<<regs.ShellPuntStateValid.LSB | bytes<<regs.ShellPuntStateBytes.LSB
		if last {
			out |= 1 << regs.ShellPuntStateLast.LSB
		}
		return out
	}
	// a frame of 20 bytes of red's in one beat, and one that never ends
	f.Add(word(nil, state(36, true), 0x01020000, 0x00001400, 0, 0, 1, 2, 3, 4, 5, 0))
	f.Add(word(nil, state(64, false), 0, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, state(64, false), 0))
	f.Add(word(nil, 0, 0, state(65, true), 0))
	f.Fuzz(func(t *testing.T, words []byte) {
		m, err := OpenMailbox(&script{words}, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		for {
			header, frame, err := m.Receive()
			if err != nil {
				if !errors.Is(err, errScriptEnds) {
					t.Error(err)
				}
				break
			}
			if len(frame) == 0 || len(frame) > MaxFrame || header.Port > PortBlack {
				t.Errorf("a frame of %d bytes from port %d", len(frame), header.Port)
			}
		}
		m, _ = OpenMailbox(&script{words}, slog.New(slog.NewTextHandler(io.Discard, nil)))
		for m.Send(PortRed, make([]byte, 100)) == nil {
		}
	})
}
