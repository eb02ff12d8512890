// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// logAgain is how often one sentence is logged, and mostSaid how many are remembered for that.
const (
	logAgain = 10 * time.Second
	mostSaid = 64
)

// mostReason is how much of a reason is logged, in characters.
const mostReason = 300

// said logs sentences, each of them seldom.
type said struct {
	log *slog.Logger

	mu   sync.Mutex
	last map[string]time.Time
}

func (s *said) warn(message, node string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %s %.*s", message, node, mostReason, why)
	if last, known := s.last[key]; known && time.Since(last) < logAgain {
		return
	}
	if len(s.last) >= mostSaid {
		clear(s.last)
	}
	s.last[key] = time.Now()
	s.log.Warn(message, "node", node, "error", fmt.Sprintf("%.*s", mostReason, why))
}
