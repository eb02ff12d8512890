// SPDX-License-Identifier: Apache-2.0

// Package wire makes messages of the API of what the control socket has in JSON, and the other way
// round. The fields of both have the same names, so each thing is described once
// (docs/reference/control-socket.md).
package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
)

// Fill gives a message what a value has in JSON. A field that the message does not have is an
// error.
func Fill(m proto.Message, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = protojson.Unmarshal(text, m)
	}
	if err != nil {
		return fmt.Errorf("an answer does not fit its message: %w", err)
	}
	return nil
}

// Read gives a value what a message has, by the names in JSON. Fields of a later version are
// left out.
func Read(m proto.Message, value any) error {
	text, err := json.Marshal(plain(m.ProtoReflect()))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// ReadCards makes the cards of a message. One that could not be read has its reason alone.
func ReadCards(m *sallyportv1.GetCardsResponse, cards *control.Cards) error {
	if err := Read(m, cards); err != nil {
		return err
	}
	for name, card := range cards.Cards {
		if card.Failure != "" {
			card.Reading = nil
			cards.Cards[name] = card
		}
	}
	return nil
}

// plain is a message as JSON has it at the control socket: all numbers are numbers, and no list is
// null.
func plain(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	list := m.Descriptor().Fields()
	for i := range list.Len() {
		if list.Get(i).IsList() {
			out[string(list.Get(i).Name())] = []any{}
		}
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(field.Name())
		switch {
		case field.IsMap():
			entries := map[string]any{}
			value.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				entries[key.String()] = one(field.MapValue(), value)
				return true
			})
			out[name] = entries
		case field.IsList():
			items := []any{}
			for i := range value.List().Len() {
				items = append(items, one(field, value.List().Get(i)))
			}
			out[name] = items
		default:
			out[name] = one(field, value)
		}
		return true
	})
	return out
}

// one is a single value.
func one(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	if field.Kind() == protoreflect.MessageKind {
		return plain(value.Message())
	}
	return value.Interface()
}

// FillEvent makes the message of an event.
func FillEvent(m *sallyportv1.WatchResponse, e events.Event) error {
	proto := e.Proto
	e.Proto = "" // a number in JSON, at times
	if err := Fill(m, e); err != nil {
		return err
	}
	m.Proto = string(proto)
	return nil
}

// ReadEvent makes the event of a message.
func ReadEvent(m *sallyportv1.WatchResponse) (e events.Event, err error) {
	fields := plain(m.ProtoReflect())
	if number, err := strconv.ParseUint(m.Proto, 10, 8); err == nil {
		fields["proto"] = number
	}
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	return e, err
}

// FillCounters makes the message of counters, which JSON has without a name between chip
// and counter.
func FillCounters(m *sallyportv1.GetCountersResponse, c control.Counters) {
	m.Chips = map[string]*sallyportv1.ChipCounters{}
	for chip, values := range c.Chips {
		m.Chips[chip] = &sallyportv1.ChipCounters{Values: values}
	}
}

// ReadCounters makes the counters of a message.
func ReadCounters(m *sallyportv1.GetCountersResponse) control.Counters {
	c := control.Counters{Chips: map[string]map[string]uint64{}}
	for chip, values := range m.Chips {
		c.Chips[chip] = values.Values
	}
	return c
}
