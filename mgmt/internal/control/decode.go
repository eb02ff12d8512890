// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// DecodeHead reads what each request begins with; `id` must be there. Beside an error stands what
// could be read.
func DecodeHead(line []byte) (Head, error) {
	var head Head
	if err := json.Unmarshal(line, &head); err != nil {
		return head, errors.New(sentence(err))
	}
	switch {
	case len(head.ID) == 0:
		return Head{}, errors.New(`the request has no "id"`)
	case head.Do == "":
		return head, errors.New(`the request has no "do"`)
	}
	return head, nil
}

// Decode reads a request and refuses fields that it does not have. Of the line it copies nothing
// but what becomes of the request, so that its caller can wipe the keys in both: a json.Decoder
// would keep a copy.
func Decode(line []byte, request any) error {
	var named map[string]passed
	if err := json.Unmarshal(line, &named); err != nil {
		return errors.New(sentence(err))
	}
	known := fieldsOf(reflect.TypeOf(request).Elem())
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !slices.ContainsFunc(known, func(field string) bool { return strings.EqualFold(field, name) }) {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	if err := json.Unmarshal(line, request); err != nil {
		return errors.New(sentence(err))
	}
	return nil
}

// passed is a value that is not read.
type passed struct{}

// UnmarshalJSON takes any.
func (*passed) UnmarshalJSON([]byte) error { return nil }

// fieldsOf are the names that the fields of a request have in JSON.
func fieldsOf(of reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// sentence says why a request is refused. It shows only names of fields, for the request may hold
// a key.
func sentence(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("the line is no JSON object: it is wrong at byte %d", syntax.Offset)
	case errors.As(err, &kind) && kind.Field == "":
		return "the line is no JSON object"
	case errors.As(err, &kind):
		value, _, _ := strings.Cut(kind.Value, " ") // behind its kind may be the value itself
		return fmt.Sprintf("the field %q cannot be a JSON %s of that size or kind", kind.Field, value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
