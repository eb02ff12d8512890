// SPDX-License-Identifier: Apache-2.0

// Package xfrm reads configuration in iproute2's syntax: `ip xfrm state`, `ip xfrm policy`, and the
// `addr`, `link`, `route` and `neigh` lines of an `ip -batch` file. It knows words and their
// limits, not the box.
package xfrm

import (
	"bytes"
	"fmt"
)

// Pos is a place in the input. File is empty for the command line.
type Pos struct {
	File string
	Line int
}

// Error is one sentence about bad input, with its place.
type Error struct {
	Pos    Pos
	Reason string
}

func (e *Error) Error() string {
	if e.Pos.File == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s:%d: %s", e.Pos.File, e.Pos.Line, e.Reason)
}

// Errorf makes an Error.
func Errorf(pos Pos, format string, args ...any) error {
	return &Error{pos, fmt.Sprintf(format, args...)}
}

// Token is one word. Text points into the input buffer, so that the buffer's owner can wipe the
// keys in it.
type Token struct {
	Text []byte
	Pos  Pos
}

// Lex splits a batch into commands as iproute2 does. `#` starts a comment anywhere, a backslash
// before the end of a line joins the next one, and a word that starts with a quote runs to the same
// quote.
func Lex(file string, input []byte) ([][]Token, error) {
	var commands [][]Token
	var command []Token
	line := 0
	for len(input) > 0 {
		var text []byte
		text, input, _ = bytes.Cut(input, []byte("\n"))
		line++
		pos := Pos{file, line}
		last := len(input) == 0
		if i := bytes.IndexByte(text, '#'); i >= 0 {
			text = text[:i]
		}
		joined := bytes.HasSuffix(text, []byte("\\"))
		if joined {
			text = text[:len(text)-1]
		}
		words, err := split(text, pos)
		if err != nil {
			return nil, err
		}
		command = append(command, words...)
		if joined && last {
			return nil, Errorf(pos, "the last line ends in a backslash, but no line follows")
		}
		if !joined && len(command) > 0 {
			commands = append(commands, command)
			command = nil
		}
	}
	return commands, nil
}

func split(text []byte, pos Pos) ([]Token, error) {
	var words []Token
	for {
		text = bytes.TrimLeft(text, " \t\r\n")
		if len(text) == 0 {
			return words, nil
		}
		var word []byte
		if quote := text[0]; quote == '\'' || quote == '"' {
			end := bytes.IndexByte(text[1:], quote)
			if end < 0 {
				return nil, Errorf(pos, "a quoted word has no closing %c", quote)
			}
			word, text = text[1:1+end], text[2+end:]
		} else {
			end := bytes.IndexAny(text, " \t\r\n")
			if end < 0 {
				end = len(text)
			}
			word, text = text[:end], text[end:]
		}
		words = append(words, Token{word, pos})
	}
}

// Words makes tokens of command-line arguments.
func Words(args []string) []Token {
	var words []Token
	for _, arg := range args {
		words = append(words, Token{Text: []byte(arg)})
	}
	return words
}
