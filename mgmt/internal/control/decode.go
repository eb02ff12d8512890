// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// DecodeHead reads what each request begins with; `id` must be there.
func DecodeHead(line []byte) (Head, error) {
	var head Head
	if err := json.Unmarshal(line, &head); err != nil {
		return Head{}, errors.New(sentence(err))
	}
	switch {
	case len(head.ID) == 0:
		return Head{}, errors.New(`the request has no "id"`)
	case head.Do == "":
		return head, errors.New(`the request has no "do"`)
	}
	return head, nil
}

// Decode reads a request and refuses fields that it does not have.
func Decode(line []byte, request any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		return errors.New(sentence(err))
	}
	return nil
}

// sentence says what is wrong with a request and shows nothing of it but names of fields, for it may hold a key.
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
