// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes are the bytes that stand for others behind a backslash (RFC 8259, 7).
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote gives the text of a string in valid JSON. It allocates once, no more than the string
// is long.
func unquote(text []byte) ([]byte, error) {
	if text[0] != '"' {
		return nil, &json.UnmarshalTypeError{Value: kindOf(text[0]), Type: reflect.TypeFor[string]()}
	}
	text = text[1 : len(text)-1]
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			out = append(out, text[i])
		case text[i+1] != 'u':
			i++
			out = append(out, escapes[text[i]])
		default:
			r := unit(text[i:])
			i += 5
			if utf16.IsSurrogate(r) {
				pair := utf16.DecodeRune(r, unit(text[i+1:]))
				if r = pair; pair != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return out, nil
}

// unit is the number of the escape that text begins with, \u and four digits, or utf8.RuneError.
func unit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return utf8.RuneError
	}
	number, _ := strconv.ParseUint(string(text[2:6]), 16, 32)
	return rune(number)
}

// kindOf names what a value in JSON is by its first byte.
func kindOf(first byte) string {
	switch first {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}
