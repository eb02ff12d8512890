// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"bytes"
	"sync"
)

// Log is a log that a test reads while other goroutines write it.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds lines.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String gives all lines so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset forgets all lines.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}
