// SPDX-License-Identifier: Apache-2.0

// Package control is the protocol of the daemon's control socket
// (docs/reference/control-socket.md): one JSON object a line each way. The daemon and its clients
// share it.
package control

import (
	"encoding/json"
	"errors"
	"strings"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
)

// DefaultPath is where the daemon listens unless its configuration says otherwise.
const DefaultPath = "/run/sallyport/control.sock"

// ReadPath is the socket for those who may read alone, beside the control socket.
func ReadPath(path string) string { return strings.TrimSuffix(path, ".sock") + "-read.sock" }

// MaxLine is the longest line, without its end.
const MaxLine = 1 << 20

// The requests, as `do` names them.
const (
	DoBatch        = "batch"
	DoCommand      = "command"
	DoAllocSPI     = "alloc-spi"
	DoQueryState   = "query-state"
	DoQueryPolicy  = "query-policy"
	DoAdvance      = "advance"
	DoList         = "list"
	DoCounters     = "counters"
	DoCapabilities = "capabilities"
	DoCards        = "cards"
	DoPair         = "pair"
	DoConfig       = "config"
	DoSelfTest     = "selftest"
	DoMonitor      = "monitor"
)

// Head begins each request.
type Head struct {
	ID json.RawMessage `json:"id"`
	Do string          `json:"do"`
}

// Line is text that may hold a key: bytes, so that they can be wiped. It is a string in JSON.
type Line []byte

// UnmarshalJSON copies a string into the only bytes that have it then: encoding/json would leave a
// copy of one with escapes.
func (l *Line) UnmarshalJSON(text []byte) (err error) {
	*l, err = unquote(text)
	return err
}

// MarshalText gives the bytes.
func (l Line) MarshalText() ([]byte, error) { return l, nil }

// Batch is carried out whole or not at all. File names it in errors.
type Batch struct {
	Head
	Lines []Line `json:"lines"`
	File  string `json:"file,omitempty"`
}

// Command is one command of sallyctl as words.
type Command struct {
	Head
	Words      []Line `json:"words"`
	Statistics bool   `json:"statistics,omitempty"`
	JSON       bool   `json:"json,omitempty"`
}

// Done is the answer to both: what the commands print, and warnings and notes, a sentence each.
type Done struct {
	Output string   `json:"output"`
	Notes  []string `json:"notes"`
}

// AllocSPI asks for an SPI in a range, ends included.
type AllocSPI struct {
	Head
	Src string `json:"src"`
	Dst string `json:"dst"`
	Min uint32 `json:"min"`
	Max uint32 `json:"max"`
}

// SPI is the answer.
type SPI struct {
	SPI uint32 `json:"spi"`
}

// QueryState names an SA.
type QueryState struct {
	Head
	Src   string `json:"src"`
	Dst   string `json:"dst"`
	Proto string `json:"proto"`
	SPI   uint32 `json:"spi"`
}

// StateUsage is the answer. Times are seconds since the epoch; UseTime is that of the query that
// first saw the count, 0 if nothing was carried.
type StateUsage struct {
	Bytes   uint64  `json:"bytes"`
	Packets uint64  `json:"packets"`
	AddTime int64   `json:"add_time"`
	UseTime int64   `json:"use_time"`
	Seq     *uint64 `json:"seq,omitempty"`
	Expired string  `json:"expired,omitempty"` // the limit that was reached: soft or hard
}

// Advance has an SA go on from a sequence number.
type Advance struct {
	QueryState
	Number uint64 `json:"number"`
}

// QueryPolicy names a policy by its direction and the words of its selector; numbers may be written
// as such.
type QueryPolicy struct {
	Head
	Src   Word `json:"src"`
	Dst   Word `json:"dst"`
	Dev   Word `json:"dev"`
	Proto Word `json:"proto"`
	SPort Word `json:"sport"`
	DPort Word `json:"dport"`
	Type  Word `json:"type"`
	Code  Word `json:"code"`
	Dir   Word `json:"dir"`
	IfID  Word `json:"if_id"`
}

// Word is a word of a command, in JSON a string or a number.
type Word string

// UnmarshalJSON takes either.
func (w *Word) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, (*string)(w)); err == nil {
		return nil
	}
	if err := json.Unmarshal(text, &number); err != nil {
		return errors.New("a word must be a string or a number")
	}
	*w = Word(number)
	return nil
}

// PolicyUsage is the answer.
type PolicyUsage struct {
	UseTime int64 `json:"use_time"`
}

// List asks for every "state" or "policy".
type List struct {
	Head
	What string `json:"what"`
}

// Items is the answer: each as `ip xfrm … list` prints it.
type Items struct {
	Items []string `json:"items"`
}

// Plain is a request without fields of its own.
type Plain struct{ Head }

// Counters is the answer to DoCounters: by chip, by name.
type Counters struct {
	Chips map[string]map[string]uint64 `json:"chips"`
}

// Chip is what a chip is and how it was built.
type Chip struct {
	chip.Identity
	Capabilities chip.Capabilities `json:"capabilities"`
}

// Capabilities is the answer to DoCapabilities. Suites are strongSwan's names.
type Capabilities struct {
	Daemon string          `json:"daemon"` // its version
	Suites []string        `json:"suites"`
	Chips  map[string]Chip `json:"chips"`
}

// SelfTestRequest asks how the last run ended, or starts one. The answer is a chip.SelfTest.
type SelfTestRequest struct {
	Head
	Run bool `json:"run,omitempty"`
}

// Cards is the answer to DoCards: by chip.
type Cards struct {
	Cards map[string]card.State `json:"cards"`
}

// Refused is an answer that is not ok.
type Refused struct {
	Reason string
	// Input says that the request is at fault, not the box.
	Input bool
}

func (r *Refused) Error() string { return r.Reason }

// PairVerb is what a request is to do with the pair.
type PairVerb string

// The verbs.
const (
	PairStatus   PairVerb = "status"
	PairSwitch   PairVerb = "switch"   // move the place to the box that has it not
	PairMaintain PairVerb = "maintain" // take this box out of service
	PairResume   PairVerb = "resume"   // put it back
)

// PairRequest is about the pair to which the box belongs.
type PairRequest struct {
	Head
	Verb PairVerb `json:"verb"`
}

// Pair is the answer: how the pair was before anything that the request has begun.
type Pair struct {
	Side       string   `json:"side"`
	Active     bool     `json:"active"`
	Maintained bool     `json:"maintained"`
	Fenced     bool     `json:"fenced"` // there is a fence
	Problems   []string `json:"problems"`
	// Other is nil while the other box does not answer, and Failure says why.
	Other   *PairOther `json:"other,omitempty"`
	Failure string     `json:"failure,omitempty"`
	Expires int64      `json:"certificate_expires"` // this box's own, in seconds since the epoch
}

// PairOther is what the other box says of itself.
type PairOther struct {
	Active   bool     `json:"active"`
	Yields   bool     `json:"yields"` // it does not take the place
	Problems []string `json:"problems"`
	Silent   float64  `json:"silent_seconds"` // since its last answer
}
