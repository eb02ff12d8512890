// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"crypto/cipher"
	"reflect"
	"unsafe"
)

// forget clears the key schedule of a cipher, which begins with the key. A cipher that refers to
// other memory is left alone, because the garbage collector has to see references go.
func forget(block cipher.Block) {
	v := reflect.ValueOf(block)
	if v.Kind() == reflect.Pointer && !refers(v.Type().Elem()) {
		clear(unsafe.Slice((*byte)(v.UnsafePointer()), v.Type().Elem().Size()))
	}
}

// refers says whether values of a type refer to other memory.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128
}
