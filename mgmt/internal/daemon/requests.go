// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/spis"
	"sallyport/mgmt/internal/xfrm"
)

// requests by name. Behind monitor come events, and no more requests.
var requests = map[string]request{
	control.DoBatch:        requestOf((*Daemon).batch),
	control.DoCommand:      requestOf((*Daemon).command),
	control.DoAllocSPI:     requestOf((*Daemon).allocSPI),
	control.DoQueryState:   queryOf((*Daemon).queryState),
	control.DoQueryPolicy:  queryOf((*Daemon).queryPolicy),
	control.DoAdvance:      requestOf((*Daemon).advanceState),
	control.DoList:         queryOf((*Daemon).list),
	control.DoCounters:     queryOf((*Daemon).counters),
	control.DoCapabilities: queryOf((*Daemon).capabilities),
	control.DoCards:        queryOf((*Daemon).cards),
	control.DoPair:         requestOf((*Daemon).pairRequest),
	control.DoConfig:       requestOf((*Daemon).config),
	control.DoSelfTest:     requestOf((*Daemon).selfTest),
	control.DoMonitor:      queryOf(func(*Daemon, *control.Plain) (any, error) { return struct{}{}, nil }),
}

// request is what the daemon does with one: it reads a line, and carries out what it has read.
type request struct {
	decode func(line []byte) (any, error)
	run    func(d *Daemon, who caller.Caller, r any) (any, error)
}

// queryOf is a query that anybody may ask.
func queryOf[R any](run func(*Daemon, *R) (any, error)) request {
	return requestOf(func(d *Daemon, _ caller.Caller, r *R) (any, error) { return run(d, r) })
}

// requestOf is for a request that may change something, which looks at who asks.
func requestOf[R any](run func(*Daemon, caller.Caller, *R) (any, error)) request {
	return request{
		func(line []byte) (any, error) {
			r := new(R)
			if err := control.Decode(line, r); err != nil {
				return nil, inputf("%s", err)
			}
			return r, nil
		},
		func(d *Daemon, who caller.Caller, r any) (any, error) { return run(d, who, r.(*R)) },
	}
}

// Do carries out a request by its name, whatever the protocol of its client. What it takes and
// gives is of package control: the pointer to a request, and an answer. Keys in the request are
// wiped. The log says what became of it.
func (d *Daemon) Do(who caller.Caller, do string, r any) (any, error) {
	result, err := requests[do].run(d, who, r)
	d.note(who, do, err)
	return result, err
}

// note writes into the log what became of a request. It never has the error of wrong words, which
// may quote a key.
func (d *Daemon) note(who caller.Caller, do string, err error) {
	d.noteCaller(who, do, err == nil)
	switch {
	case err == nil:
		d.log.Debug("request done", "do", do)
	case session.IsInput(err):
		d.log.Debug("request refused: its words are wrong")
	default:
		d.log.Error("request failed", "do", do, "error", err.Error())
	}
}

// noteCaller names the caller in the log. A reader of the network cannot fill it.
func (d *Daemon) noteCaller(who caller.Caller, do string, done bool) {
	if who.RemoteReader(do) {
		d.remoteReaders.Do(func() { who.Note(d.log, do, done) })
		return
	}
	who.Note(d.log, do, done)
}

// answer carries out one request. It says whether what follows on the connection are events.
func (d *Daemon) answer(who caller.Caller, line []byte) (text []byte, monitor bool) {
	head, err := control.DecodeHead(line)
	if err != nil {
		return d.refuse(head, inputf("%s", err)), false
	}
	known, found := requests[head.Do]
	if !found {
		return d.refuse(head, inputf(`"do" cannot be %q`, head.Do)), false
	}
	r, err := known.decode(line)
	if err != nil {
		who.Note(d.log, head.Do, false)
		return d.refuse(head, err), false
	}
	result, err := d.Do(who, head.Do, r)
	if err != nil {
		return refusal(head, err), false
	}
	return reply(head.ID, true, result), head.Do == control.DoMonitor
}

// refuse answers that a line is no request.
func (d *Daemon) refuse(head control.Head, err error) []byte {
	d.log.Debug("request refused: its words are wrong")
	return refusal(head, err)
}

// refusal is the answer that a request was not carried out.
func refusal(head control.Head, err error) []byte {
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

// yieldTimeout is how long the other box may take to say that it gives its place away.
const yieldTimeout = 5 * time.Second

// pairRequest tells of the pair, moves the place, or takes this box out of service. It waits for no
// change of the chips.
func (d *Daemon) pairRequest(who caller.Caller, r *control.PairRequest) (any, error) {
	if r.Verb != control.PairStatus {
		if err := who.MayChange(); err != nil {
			return nil, err
		}
	}
	p := d.pair
	if p == nil {
		return nil, inputf("this box is alone: its configuration has no [peer]")
	}
	before, err := d.pairState(), error(nil)
	switch r.Verb {
	case control.PairStatus:
	case control.PairSwitch:
		if before.Active {
			err = d.giveWaySoon()
		} else {
			ctx, cancel := context.WithTimeout(context.Background(), yieldTimeout)
			defer cancel()
			err = p.Client.Yield(ctx)
		}
	case control.PairMaintain, control.PairResume:
		err = p.facts.Maintain(r.Verb == control.PairMaintain, d.now())
		p.wakeUp()
	default:
		return nil, inputf("verb must be status, switch, maintain or resume")
	}
	if err != nil {
		return nil, inputf("%s", err)
	}
	if r.Verb != control.PairStatus {
		d.log.Warn("the administrator asks of the pair", "verb", string(r.Verb))
	}
	return before, nil
}

// pairState is how the pair is now, for a box that is one of it.
func (d *Daemon) pairState() control.Pair {
	p := d.pair
	view := p.facts.View(d.now())
	out := control.Pair{
		Side: string(p.Side), Active: view.Own.Active, Maintained: view.Own.Maintained, Fenced: p.Fence != nil, Problems: view.Own.Problems, Failure: p.facts.Failure(),
	}
	if p.Identity != nil {
		out.Expires = p.Identity().Expires().Unix()
	}
	if view.Answered && view.Silent < view.Dead {
		out.Other = &control.PairOther{Active: view.Other.Active, Yields: view.Other.Yields, Problems: view.Other.Problems, Silent: view.Silent.Seconds()}
	}
	return out
}

// allocSPI gives an SPI that no inbound SA has and no other was promised. A router finds inbound
// SAs by their SPI alone, so it is unique over all destinations.
func (d *Daemon) allocSPI(who caller.Caller, r *control.AllocSPI) (any, error) {
	if err := who.MayChange(); err != nil {
		return nil, err
	}
	src, err := netip.ParseAddr(r.Src)
	if err != nil {
		return nil, inputf("src must be an IP address")
	}
	dst, err := netip.ParseAddr(r.Dst)
	if err != nil || src.Is4() != dst.Is4() {
		return nil, inputf("dst must be an IP address of src's version")
	}
	if r.Min < spis.First || r.Max < r.Min {
		return nil, inputf("min and max must be a range of SPIs from %d on, not %d to %d", spis.First, r.Min, r.Max)
	}
	if err := d.mayAgreeKeys(); err != nil {
		return nil, err
	}
	v, err := d.view()
	if err != nil {
		return nil, err
	}
	sas := &v.Model().SAs
	spi, free := d.promised.Promise(r.Min, r.Max, d.now(), sas.Count(xfrm.DirIn), sas.Inbound)
	if !free {
		return nil, inputf("no SPI from 0x%x to 0x%x is free", r.Min, r.Max)
	}
	return control.SPI{SPI: spi}, nil
}

func inputf(format string, args ...any) error { return xfrm.Errorf(xfrm.Pos{}, format, args...) }
