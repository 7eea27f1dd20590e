use super::*;

const CHATML: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn template(source: &str) -> Template {
    Template {
        source: Some(source.to_owned()),
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
