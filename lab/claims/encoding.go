package claims

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// MarshalJSON encodes plain JSON: numbers as numbers, quantities and infinities as strings.
func (v Value) MarshalJSON() ([]byte, error) {
	switch x := v.x.(type) {
	case nil, bool, string:
		return json.Marshal(x)
	case float64:
		if !math.IsInf(x, 0) {
			return json.Marshal(x)
		}
	case []Value:
		return json.Marshal(x)
	case []field:
		var b bytes.Buffer
		b.WriteByte('{')
		for i, f := range x {
			if i > 0 {
				b.WriteByte(',')
			}
			name, err := json.Marshal(f.name)
			if err != nil {
				return nil, err
			}
			value, err := f.value.MarshalJSON()
			if err != nil {
				return nil, err
			}
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteByte('}')
		return b.Bytes(), nil
	}
	return json.Marshal(v.String())
}

// UnmarshalJSON decodes what MarshalJSON encodes. A map keeps its order; a duplicate key is an
// error.
func (v *Value) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	x, err := decodeJSON(d)
	if err != nil {
		return fmt.Errorf("claims: value %.60q: %w", b, err)
	}
	*v = x
	return nil
}

func decodeJSON(d *json.Decoder) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := token.(type) {
	case bool:
		return Bool(t), nil
	case float64:
		return Number(t), nil
	case string:
		return Text(t), nil
	case json.Delim:
		if t == '[' {
			return decodeList(d)
		}
		return decodeMap(d)
	}
	return Value{}, nil
}

func decodeList(d *json.Decoder) (Value, error) {
	list := []Value{}
	for d.More() {
		x, err := decodeJSON(d)
		if err != nil {
			return Value{}, err
		}
		list = append(list, x)
	}
	_, err := d.Token()
	return Value{list}, err
}

func decodeMap(d *json.Decoder) (Value, error) {
	m := Value{[]field{}}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := token.(string)
		x, err := decodeJSON(d)
		if err != nil {
			return Value{}, err
		}
		if err := m.add(name, x); err != nil {
			return Value{}, err
		}
	}
	_, err := d.Token()
	return m, err
}

// add appends an element to a map that is being decoded.
func (v *Value) add(name string, x Value) error {
	if _, ok := v.get(name); ok {
		return fmt.Errorf("duplicate key %q", name)
	}
	v.x = append(v.x.([]field), field{name, x})
	return nil
}

// UnmarshalYAML decodes the same from a catalogue file.
func (v *Value) UnmarshalYAML(n *yaml.Node) error {
	x, err := decodeYAML(n)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*v = x
	return nil
}

func decodeYAML(n *yaml.Node) (Value, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		list := []Value{}
		for _, e := range n.Content {
			x, err := decodeYAML(e)
			if err != nil {
				return Value{}, err
			}
			list = append(list, x)
		}
		return Value{list}, nil
	case yaml.MappingNode:
		m := Value{[]field{}}
		for i := 0; i+1 < len(n.Content); i += 2 {
			x, err := decodeYAML(n.Content[i+1])
			if err != nil {
				return Value{}, err
			}
			if err := m.add(n.Content[i].Value, x); err != nil {
				return Value{}, err
			}
		}
		return m, nil
	case yaml.ScalarNode:
		var x any
		if err := n.Decode(&x); err != nil {
			return Value{}, err
		}
		switch x := x.(type) {
		case nil:
			return Value{}, nil
		case bool:
			return Bool(x), nil
		case string:
			return Text(x), nil
		case int:
			return Number(float64(x)), nil
		case float64:
			return Number(x), nil
		}
	}
	return Value{}, fmt.Errorf("%q is not a number, text, bool, list or map", n.Value)
}
