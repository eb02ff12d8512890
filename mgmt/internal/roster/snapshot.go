// SPDX-License-Identifier: Apache-2.0

package roster

import (
	"encoding/json"
	"fmt"
)

// MostSnapshot is the longest snapshot, in bytes: 128 nodes with the longest names.
const MostSnapshot = 256 << 10

// Snapshot is a state in bytes.
func (s *State) Snapshot() []byte {
	text, _ := json.Marshal(s) // of strings and numbers: it never fails
	return text
}

// Restore reads a snapshot.
func Restore(text []byte) (*State, error) {
	if len(text) > MostSnapshot {
		return nil, fmt.Errorf("a snapshot of the roster has %d bytes, more than %d", len(text), MostSnapshot)
	}
	s := New()
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("a snapshot of the roster cannot be read: %w", err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("a snapshot of the roster does not count: %w", err)
	}
	return s, nil
}
