use super::*;

fn text(text: &str) -> Literal {
    Literal::Value(Value::Text(text.to_owned()))
}

fn int(number: i128) -> Value {
    Value::Int(number)
}

fn list(items: impl Into<Vec<Value>>) -> Literal {
    Literal::Value(Value::List(items.into()))
}

#[test]
fn numbers_are_parsed_like_python() {
    for (literal, number) in [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("- (5)", -5),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0o17", 15),
        ("0b1_1", 3),
        ("00", 0),
        ("  7 # seven", 7),
    ] {
        assert_eq!(evaluate(literal), Literal::Value(int(number)), "{literal}");
    }
    for (literal, number) in [
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("01.5", 1.5),
    ] {
        let float = Literal::Value(Value::Float(number));
        assert_eq!(evaluate(literal), float, "{literal}");
    }
    for literal in [
        "0644", "10.0.0.1", "1.2.3", "v1.36", "1a", "1__0", "0x", "--5", "-(-5)", "-True", "1-2",
        "5 five", "1 2", "", "#", "1e", "host-1", "yes", "true", "null", "a,b", "...x",
    ] {
        assert_eq!(evaluate(literal), Literal::PlainText, "{literal}");
    }
}

#[test]
fn constants_and_strings_are_parsed_like_python() {
    assert_eq!(evaluate("True"), Literal::Value(Value::Bool(true)));
    assert_eq!(evaluate("None"), Literal::Value(Value::Null));
    assert_eq!(evaluate("'a b'"), text("a b"));
    assert_eq!(evaluate(r#""C:\k\new""#), text("C:\\k\new"));
    assert_eq!(evaluate(r"r'C:\new'"), text(r"C:\new"));
    assert_eq!(evaluate("'a' \"b\" u'c'"), text("abc"));
    assert_eq!(evaluate(r"'\x41\101\u00e4'"), text("AAä"));
    assert_eq!(evaluate("'''it's'''"), text("it's"));
    assert_eq!(evaluate("b'x'"), text("x"));
    assert_eq!(evaluate("..."), text("..."));
    for literal in ["f'x'", "'a' b'c'", "'a", r"'\x4'", "b'ä'", "'a' + 'b'"] {
        assert_eq!(evaluate(literal), Literal::PlainText, "{literal}");
    }
}

#[test]
fn collections_are_parsed() {
    assert_eq!(evaluate("1,2"), list([int(1), int(2)]));
    assert_eq!(evaluate("1,"), list([int(1)]));
    assert_eq!(evaluate("(1,)"), list([int(1)]));
    assert_eq!(evaluate("(1)"), Literal::Value(int(1)));
    assert_eq!(evaluate("()"), list([]));
    assert_eq!(evaluate("set()"), list([]));
    assert_eq!(evaluate("{1}"), list([int(1)]));
    let pairs = vec![
        ("a".to_owned(), int(1)),
        ("2".to_owned(), Value::List(Vec::new())),
    ];
    assert_eq!(
        evaluate("{'a': 1, 2: [],}"),
        Literal::Value(Value::Map(pairs))
    );
    for literal in [
        "[1",
        "[1,,]",
        "[a]",
        "{'a': 1",
        "{'a'}}",
        "{1: 2, 3}",
        "[,]",
    ] {
        assert_eq!(evaluate(literal), Literal::PlainText, "{literal}");
    }
}

#[test]
fn unsupported_values_are_rejected() {
    for literal in [
        "{1, 2}",
        "1+2j",
        "3j",
        r"'\N{DIGIT ONE}'",
        "{None: 1}",
        "999999999999999999999999999999999999999999",
        r"'\ud800'",
        r"b'\xff'",
    ] {
        let unsupported = matches!(evaluate(literal), Literal::Unsupported(_));
        assert!(unsupported, "{literal}: {:?}", evaluate(literal));
    }
    assert_eq!(evaluate("{1, 2} and more"), Literal::PlainText);
}

#[test]
fn deep_nesting_is_rejected() {
    assert_eq!(
        evaluate(&"[".repeat(100_000)),
        Literal::Unsupported(TOO_DEEP)
    );
}
