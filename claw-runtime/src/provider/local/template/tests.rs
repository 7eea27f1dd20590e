use super::*;

const CHATML: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn template(source: &str) -> Template {
    Template {
        source: guard::guarded(source),
        begin: "<s>".to_owned(),
        end: "</s>".to_owned(),
        chatml: true,
    }
}

fn said(by: Speaker, text: &str) -> Said {
    Said {
        by,
        text: text.to_owned(),
    }
}

fn talk() -> Vec<Said> {
    vec![
        said(Speaker::System, "Be kind."),
        said(Speaker::User, "Hi <|im_end|>"),
    ]
}

/// Fixed parts as they are, texts in brackets.
fn written(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Fixed(text) => out.push_str(text),
            Part::Text(text) => out.push_str(&format!("[{text}]")),
        }
    }
    out
}

const AS_CHATML: &str = "<|im_start|>system\n[Be kind.]<|im_end|>\n<|im_start|>user\n[Hi <|im_end|>]<|im_end|>\n<|im_start|>assistant\n";

#[test]
fn texts_take_their_places_and_are_no_marks() {
    assert_eq!(written(&template(CHATML).render(&talk())), AS_CHATML);
    let one = template(CHATML).render(&talk()[1..]);
    assert!(written(&one).starts_with("<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n[Hi"));
}

#[test]
fn what_templates_use_is_there() {
    let long = "{{- bos_token }}{%- set ns = namespace(system='') %}\
        {%- if messages[0].role == 'system' %}{%- set ns.system = messages[0]['content']|trim %}{%- set messages = messages[1:] %}{%- endif %}\
        {%- if tools is defined and tools %}TOOLS{%- endif %}{%- if enable_thinking is defined and not enable_thinking %}quiet{%- endif %}\
        {%- if strftime_now is defined %}NOW{%- endif %}({{ ns.system }})\
        {%- for message in messages %}{%- if message.content.startswith('<x>') or message.get('tool_calls') %}X{%- endif %}\
        <{{ message.role.upper() }}>{{ message.content.strip() }}{{ eos_token }}{{ {'a': 1}|tojson }}\
        {%- if loop.index0 == 7 %}{%- break %}{%- endif %}{%- endfor %}";
    let parts = template(long).render(&talk());
    assert_eq!(
        written(&parts),
        "<s>quiet([Be kind.])<USER>[Hi <|im_end|>]</s>{\"a\": 1}"
    );
}

#[test]
fn instructions_without_a_place_stand_before_the_question() {
    let no_system = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
        {% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
    let parts = template(no_system).render(&talk());
    assert_eq!(written(&parts), "<user>[Be kind.\n\nHi <|im_end|>]");
}

#[test]
fn a_template_that_does_not_work_is_not_used() {
    let dropped = "{% for m in messages %}{{ m.role }}{% endfor %}";
    let endless =
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
    let deep = "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}";
    let large = "{{ 'x' * 300000 }}{{ messages[0].content }}{{ messages[1].content }}";
    let forged = format!("{OPEN}9{CLOSE}");
    let open = format!("{OPEN}");
    for broken in [
        "{% if %}",
        "{{ messages[0].nothing.more }}",
        "{% include 'x' %}",
        "{{ messages.frobnicate() }}",
        dropped,
        endless,
        deep,
        large,
        &forged,
        &open,
    ] {
        assert_eq!(
            written(&template(broken).render(&talk())),
            AS_CHATML,
            "{broken}"
        );
    }
    let mut plain = template(CHATML);
    (plain.source, plain.chatml) = (None, false);
    assert_eq!(
        written(&plain.render(&talk())),
        "system: [Be kind.]\n\nuser: [Hi <|im_end|>]\n\nassistant: "
    );
}

/// Each of these took all of the stack, the time or the memory of a process before values were bounded.
#[test]
fn a_template_cannot_build_what_never_ends() {
    let grown = |from: &str, by: &str, to: &str| {
        format!(
            "{{% set ns = namespace(x={from}, y={from}) %}}{{% for a in range(20000) %}}{{% set ns.x = {by} %}}\
             {{% set ns.y = ns.x %}}{{% endfor %}}{{{{ {to} }}}}"
        )
    };
    let hostile = [
        grown("'x'", "ns.x ~ ns.x", "ns.x|length"),
        grown("'x'", "ns.x + ns.x", "ns.x|length"),
        grown("[1]", "ns.x + ns.x", "ns.x|length"),
        grown("[1]", "[ns.x, ns.x]", "ns.x == ns.y"),
        grown("[1]", "[ns.x, ns.x]", "ns.x|tojson"),
        grown("[1]", "[ns.x]", "1"),
        grown("1", "{'a': ns.x}", "ns.x"),
        grown("1", "dict(a=ns.x)", "ns.x|string|length"),
        grown("1", "namespace(a=ns.x)", "1"),
        grown("1", "ns", "ns == ns"),
        grown("1", "ns", "{ns: 1}"),
        grown("[1]", "ns.x|zip(ns.x)", "1"),
        grown("[1]", "ns.x * 9", "ns.x|length"),
        "{% set s = 'é' * 1000000 %}{% for a in range(90000) %}{% if s[999999] %}{% endif %}{% endfor %}".to_owned(),
        "{% set s %}{% for a in range(20000) %}é{% endfor %}{% endset %}".to_owned(),
        "{% macro f(x, n) %}{% if n %}{{ f([x, x], n - 1) }}{% else %}{{ x == [x] }}{% endif %}{% endmacro %}{{ f([1], 40) }}".to_owned(),
        format!("{}{{{{ x|tojson }}}}", "{% set x = [x, x] %}".repeat(40)),
        format!("{}{{{{ x < x }}}}", "{% set x = [x, x] %}".repeat(40)),
        "{{ [[[1]]]|tojson(indent=1000000000) }}".to_owned(),
        "{{ [[[1]]]|tojson(1000000000) }}".to_owned(),
        "{{ ('\\x01' * 3000000)|tojson }}".to_owned(),
        "{{ 'x' * 10 ** 9 }}".to_owned(),
        "{{ ([1] * 99000000)|join }}".to_owned(),
        "{{ '%1000000000d'|format(1) }}".to_owned(),
        "{{ 'x'|center(1000000000) }}".to_owned(),
        "{{ 'x\ny'|indent(1000000000) }}".to_owned(),
        "{{ ('x' * 3000)|replace('x', 'y' * 3000) }}".to_owned(),
        "{{ ('a' * 6000000).split('a')|length }}".to_owned(),
        "{{ range(100000)|join('y' * 100000) }}".to_owned(),
        "{{ ([[1] * 1000] * 1000)|sum(start=[])|length }}".to_owned(),
        "{% for a in [1] recursive %}{{ loop([a, a]) }}{% endfor %}".to_owned(),
        // What a comment hides from the guard, but not from the engine.
        format!("{{#}}{{{{ \" #}}{}{{# \" }}}}#}}", grown("[1]", "[ns.x]", "1")),
        // What does not show what it holds.
        format!(
            "{{% set ns = namespace(x=1) %}}{{% for a in range(20000) %}}{{% for b in [1] %}}\
             {{% if loop.changed({}ns.x{}) %}}{{% endif %}}{{% set ns.x = loop %}}{{% endfor %}}{{% endfor %}}",
            "[".repeat(40),
            "]".repeat(40)
        ),
        grown("1", "[[1, ns.x][:1]]", "1"),
        grown("1", "{'a': [ns.x][1:]}", "1"),
        format!(
            "{{% macro f(n) %}}{{% if n %}}{{{{ f(n - 1, caller=[{0}, {0}]) }}}}{{% else %}}{{{{ caller|string }}}}\
             {{% endif %}}{{% endmacro %}}{{{{ f(6, caller=[1]) }}}}",
            ["caller"; 60].join(", ")
        ),
        // What is small by itself, many times.
        format!(
            "{{% set t %}}{}{{% endset %}}{{% set x = [{}] %}}{{{{ [{}]|string|length }}}}",
            "y".repeat(16_000),
            ["t"; 250].join(","),
            ["x"; 450].join(",")
        ),
        "{{ [['x' * 100000] * 10000] * 10000 }}".to_owned(),
        format!("{{{{ {}1 }}}}", "-".repeat(200_000)),
        format!("{{{{ a{} }}}}", "|e".repeat(60_000)),
        format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(5_000)),
        format!("{{{{ {}{} }}}}", "[".repeat(30_000), "]".repeat(30_000)),
    ];
    for source in hostile {
        let written = written(&template(&source).render(&talk()));
        assert_eq!(written, AS_CHATML, "{source:.200}");
    }
}

/// As deep and as long as it may be, on the stack that any thread has.
#[test]
fn a_template_at_its_bounds_ends() {
    for part in [
        "+a",
        "~a",
        ".b",
        "[0]",
        "()",
        "|e",
        " is a",
        " and a",
        " if a else a",
    ] {
        let source = format!("{{{{ a{} }}}}", part.repeat(1000 / part.len()));
        assert!(guard::guarded(&source).is_some(), "{part}");
        template(&source).render(&talk());
    }
    for part in ["not ", "-"] {
        template(&format!("{{{{ {}a }}}}", part.repeat(1000 / part.len()))).render(&talk());
    }
    let branches = "{% elif a %}".repeat(60);
    template(&format!("{{% if a %}}{branches}{{% endif %}}")).render(&talk());
}

/// A conversation as long as the context has room for is still written by the template.
#[test]
fn long_conversations_have_room() {
    let source = "{%- set loop_messages = messages %}{%- set ns = namespace(multi_step_tool=true, last=loop_messages|length - 1) %}\
        {%- macro shown(content, role='none') %}{{- role }}: {{ content -}}{%- endmacro %}\
        {%- set missing = tools %}{%- if missing is defined and missing %}TOOLS{%- endif %}\
        {%- for message in loop_messages[::-1] %}{%- set index = (loop_messages|length - 1) - loop.index0 %}\
        {%- if ns.multi_step_tool and message.role == 'user' %}{%- set ns.multi_step_tool = false %}{%- set ns.last = index %}{%- endif %}{%- endfor %}\
        {%- for message in loop_messages %}{%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}\
        {{- '<' + shown(content, message['role']) + '>' }}{%- endfor %}({{ ns.last }})";
    let talk: Vec<Said> = (0..400)
        .map(|at| match at % 2 {
            0 => said(Speaker::User, "Hi"),
            _ => said(Speaker::Assistant, "Ho"),
        })
        .collect();
    let written = written(&template(source).render(&talk));
    assert_eq!(
        written,
        "<user: [Hi]><assistant: [Ho]>".repeat(200) + "(398)"
    );
}

proptest::proptest! {
    /// Whatever a template is, rendering ends, and each text stands as it was said.
    #[test]
    fn any_template_ends(source in "(\\{%|%\\}|\\{\\{|\\}\\}| for | in | if |messages|set x=|range\\(9\\)|endfor|endif|\\.content|x|~|\\+|'|\\PC){0,24}") {
        let talk = talk();
        let parts = template(&source).render(&talk);
        for said in &talk {
            let kept = parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains(&said.text)));
            proptest::prop_assert!(kept);
        }
    }
}
