// SPDX-License-Identifier: Apache-2.0

// Package mesh connects the nodes of a cluster (docs/decisions/0017): one port of mutual TLS 1.3
// for all that they say to each other. Both ends say who they are before anything else, and either
// may refuse the other in a sentence that both log.
package mesh

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// The longest frames, in bytes.
const (
	mostHello  = 4 << 10
	mostCall   = 16 << 10
	mostPacket = 16 << 10
)

// headLength is that of a frame's head: the length of what follows it.
const headLength = 4

// readFrame reads a frame of at most so many bytes. It takes memory for no more than has come.
func readFrame(in io.Reader, most int) ([]byte, error) {
	var head [headLength]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length == 0 || length > uint32(most) {
		return nil, fmt.Errorf("a frame has %d bytes, and not 1 to %d", length, most)
	}
	frame := make([]byte, length)
	_, err := io.ReadFull(in, frame)
	return frame, err
}

// writeFrame writes a frame in one piece.
func writeFrame(out io.Writer, frame []byte, most int) error {
	if len(frame) == 0 || len(frame) > most {
		return fmt.Errorf("a frame has %d bytes, and not 1 to %d", len(frame), most)
	}
	_, err := out.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, headLength+len(frame)), uint32(len(frame))), frame...))
	return err
}

// readJSON reads a frame into a value.
func readJSON(in io.Reader, most int, to any) error {
	frame, err := readFrame(in, most)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(frame, to); err != nil {
		return fmt.Errorf("a frame cannot be read: %w", err)
	}
	return nil
}

// writeJSON writes a value as a frame.
func writeJSON(out io.Writer, most int, what any) error {
	frame, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return writeFrame(out, frame, most)
}
