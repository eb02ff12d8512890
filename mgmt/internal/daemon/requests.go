// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/session"
)

// requests by name, but for monitor, after which there are no more.
var requests = map[string]func(*Daemon, caller, []byte) (any, error){
	control.DoBatch:        requestOf((*Daemon).batch),
	control.DoCommand:      requestOf((*Daemon).command),
	control.DoAllocSPI:     requestOf((*Daemon).allocSPI),
	control.DoQueryState:   request((*Daemon).queryState),
	control.DoQueryPolicy:  request((*Daemon).queryPolicy),
	control.DoAdvance:      requestOf((*Daemon).advanceState),
	control.DoList:         request((*Daemon).list),
	control.DoCounters:     request((*Daemon).counters),
	control.DoCapabilities: request((*Daemon).capabilities),
	control.DoCards:        request((*Daemon).cards),
	control.DoPair:         requestOf((*Daemon).pairRequest),
	control.DoConfig:       requestOf((*Daemon).config),
	control.DoMonitor:      request(func(*Daemon, *control.Plain) (any, error) { return struct{}{}, nil }),
}

// request makes a function of a line of one that takes what is in it, of a query that anybody may
// ask.
func request[R any](run func(*Daemon, *R) (any, error)) func(*Daemon, caller, []byte) (any, error) {
	return requestOf(func(d *Daemon, _ caller, r *R) (any, error) { return run(d, r) })
}

// requestOf is for a request that may change something, which looks at who asks.
func requestOf[R any](run func(*Daemon, caller, *R) (any, error)) func(*Daemon, caller, []byte) (any, error) {
	return func(d *Daemon, who caller, line []byte) (any, error) {
		var r R
		if err := control.Decode(line, &r); err != nil {
			return nil, inputf("%s", err)
		}
		return run(d, who, &r)
	}
}

// answer carries out one request. It says whether what follows on the connection are events.
func (d *Daemon) answer(who caller, line []byte) (text []byte, monitor bool) {
	head, err := control.DecodeHead(line)
	if err != nil {
		return d.refuse(head, inputf("%s", err)), false
	}
	run := requests[head.Do]
	if run == nil {
		return d.refuse(head, inputf(`"do" cannot be %q`, head.Do)), false
	}
	result, err := run(d, who, line)
	who.note(d.log, head.Do, err == nil)
	if err != nil {
		return d.refuse(head, err), false
	}
	d.log.Debug("request done", "do", head.Do)
	return reply(head.ID, true, result), head.Do == control.DoMonitor
}

// refuse answers that a request was not carried out. The log never has what is wrong with the words
// of a request, which may be a key.
func (d *Daemon) refuse(head control.Head, err error) []byte {
	input := session.IsInput(err)
	if input {
		d.log.Debug("request refused: its words are wrong")
	} else {
		d.log.Error("request failed", "do", head.Do, "error", err.Error())
	}
	return reply(head.ID, false, struct {
		Error string `json:"error"`
		Input bool   `json:"input"`
	}{err.Error(), session.IsRefused(err)})
}

// reply puts the fields of a result behind those of each answer.
func reply(id json.RawMessage, ok bool, result any) []byte {
	head, err := json.Marshal(struct {
		ID json.RawMessage `json:"id"`
		OK bool            `json:"ok"`
	}{id, ok})
	if err != nil {
		panic(err) // the id is JSON, since it was read as such
	}
	fields, err := json.Marshal(result)
	if err != nil {
		panic(err) // results are structs of strings and numbers
	}
	if string(fields) != "{}" {
		head = append(append(head[:len(head)-1], ','), fields[1:]...)
	}
	return append(head, '\n')
}
