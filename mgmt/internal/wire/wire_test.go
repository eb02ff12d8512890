// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
)

// full gives each field of a value something that is not its zero.
func full(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				full(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		full(v.Index(0))
		full(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		full(key)
		full(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.25)
	default:
		if v.CanInt() {
			v.SetInt(1<<(v.Type().Bits()-2) + 1) // more than a float64 holds
		} else {
			v.SetUint(1<<(v.Type().Bits()-1) + 1)
		}
	}
}

// TestAnswers: a message has all that an answer of the control socket has, and gives it back.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		answer any
		m      proto.Message
	}{
		{&control.Done{}, &sallyportv1.BatchResponse{}}, {&control.Done{}, &sallyportv1.CommandResponse{}}, {&control.SPI{}, &sallyportv1.AllocSpiResponse{}},
		{&control.StateUsage{}, &sallyportv1.QueryStateResponse{}}, {&control.PolicyUsage{}, &sallyportv1.QueryPolicyResponse{}},
		{&control.Items{}, &sallyportv1.ListResponse{}}, {&control.Cards{}, &sallyportv1.GetCardsResponse{}},
		{&control.Config{}, &sallyportv1.ConfigResponse{}}, {&control.Pair{}, &sallyportv1.PairResponse{}},
		{&control.Capabilities{}, &sallyportv1.GetCapabilitiesResponse{}},
	} {
		full(reflect.ValueOf(test.answer).Elem())
		if c, is := test.answer.(*control.Capabilities); is { // sizes have 32 bits
			for name, chip := range c.Chips {
				shrink(reflect.ValueOf(&chip.Capabilities).Elem())
				c.Chips[name] = chip
			}
		}
		again := reflect.New(reflect.TypeOf(test.answer).Elem()).Interface()
		if err := Fill(test.m, test.answer); err != nil {
			t.Errorf("%T: %v", test.answer, err)
		}
		if err := Read(test.m, again); err != nil || !reflect.DeepEqual(again, test.answer) {
			t.Errorf("%T: %+v, %v, want %+v", test.answer, again, err, test.answer)
		}
	}
	if err := Fill(&sallyportv1.AllocSpiResponse{}, control.Items{Items: []string{"x"}}); err == nil {
		t.Error("a field that a message does not have is lost")
	}
}

// shrink gives the numbers of a struct values of 31 bits.
func shrink(v reflect.Value) {
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int {
			v.Field(i).SetInt(1<<30 + int64(i))
		}
	}
}

// TestCardThatFails: it has its reason and no more.
func TestCardThatFails(t *testing.T) {
	m := &sallyportv1.GetCardsResponse{}
	cards := control.Cards{Cards: map[string]card.State{"outer": {Failure: "it is gone"}, "inner": {Reading: &card.Reading{Board: "vcu1525", Links: []card.Link{}, Cages: []card.Cage{}}}}}
	var again control.Cards
	if err := Fill(m, cards); err != nil || ReadCards(m, &again) != nil || !reflect.DeepEqual(cards, again) {
		t.Errorf("%v, %v", again, err)
	}
}

// TestCounters: both ways.
func TestCounters(t *testing.T) {
	c := control.Counters{Chips: map[string]map[string]uint64{"inner": {"rx_frames": 1 << 63}, "outer": {"x": 0}}}
	m := &sallyportv1.GetCountersResponse{}
	FillCounters(m, c)
	if again := ReadCounters(m); !reflect.DeepEqual(again, c) {
		t.Errorf("%v", again)
	}
}

// TestEvents: an event of each kind comes through a message as it was.
func TestEvents(t *testing.T) {
	yes, port := true, uint16(500)
	at := netip.MustParseAddrPort("192.0.2.2:4500")
	for _, e := range []events.Event{
		{Kind: "acquire", Src: at.Addr(), Dst: at.Addr(), Proto: "6", ReqID: 1, Asked: &events.Asked{Policy: "src …", SPort: &port, DPort: &port, Type: &port, Code: &port}},
		{Kind: "expire", Src: at.Addr(), Dst: at.Addr(), Proto: "esp", SPI: 1 << 31, ReqID: 1, Dir: "out", Hard: &yes, Limit: "bytes"},
		{Kind: "mapping", Old: at, New: at}, {Kind: "link", Link: "inner", Up: new(bool)}, {Kind: "tamper", Chip: "crypto", OK: &yes}, {Kind: "restart"},
		{Kind: "audit", Dropped: &events.Dropped{Reason: "replayed", Seq: 7, Count: 2, Time: time.Date(2026, 2, 28, 23, 0, 0, 250117000, time.UTC), Uptime: "1.5", Packet: "src …", Allowed: "dst …"}},
	} {
		m := &sallyportv1.WatchResponse{}
		if err := FillEvent(m, e); err != nil {
			t.Errorf("%s: %v", e.Kind, err)
		}
		again, err := ReadEvent(m)
		before, _ := json.Marshal(e)
		after, _ := json.Marshal(again)
		if err != nil || string(before) != string(after) || again.String() != e.String() {
			t.Errorf("%s, %v, want %s", after, err, before)
		}
	}
}
