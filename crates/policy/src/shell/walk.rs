//! The walk over the syntax tree: every place where a shell would start a command is visited.

use brush_parser::ast::{self, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item};
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use super::guard::{self, Unparsable};
use super::place::Place;
use super::script::{Assignment, Redirect, Script, SimpleCommand};
use super::word::{self, Certainty, Quoting, Word};

/// Substitutions inside substitutions. Deeper ones are a puzzle, not a command.
const MAX_DEPTH: usize = 12;

type Walked = Result<(), Unparsable>;

pub(super) fn script(command: &str) -> Result<Script, Unparsable> {
    let mut walk = Walk::default();
    walk.code(command)?;
    // Arithmetic evaluates what variables hold, so data can become code.
    let evaluated = walk.evaluates && walk.tainted;
    Ok(Script { commands: walk.found, opaque: walk.opaque || evaluated })
}

#[derive(Default)]
struct Walk {
    found: Vec<SimpleCommand>,
    depth: usize,
    place: Place,
    moves: usize,
    opaque: bool,
    evaluates: bool,
    tainted: bool,
}

/// Words that a shell never takes for a command's name where a command begins. Where the parser does, as in
/// `time time ! x`, it has misread the line.
const RESERVED: [&str; 21] = [
    "!", "time", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "select", "function", "coproc",
];

fn parse(code: &str) -> Result<ast::Program, Unparsable> {
    let options = ParserOptions::default();
    let syntax = |error: &dyn std::fmt::Display| Unparsable::Syntax(error.to_string());
    let tokens = uncached_tokenize_str(code, &options.tokenizer_options()).map_err(|e| syntax(&e))?;
    guard::tokens(&tokens)?;
    parse_tokens(&tokens, &options).or_else(|error| match select_as_for(&tokens) {
        Some(tokens) => parse_tokens(&tokens, &options).map_err(|e| syntax(&e)),
        None => Err(syntax(&error)),
    })
}

/// Two words in a row, a quote, a comment: nothing that a sum holds. What it substitutes is looked at elsewhere.
fn reads_as_a_command(expression: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let (mut ended_word, mut spaced, mut nested) = (false, false, 0_usize);
    let mut previous = ' ';
    expression.chars().any(|c| {
        match c {
            '(' if nested > 0 || previous == '$' => nested += 1,
            ')' => nested = nested.saturating_sub(1),
            _ => {}
        }
        previous = c;
        if nested > 0 {
            return false;
        }
        let adjacent = ended_word && spaced && word(c);
        spaced = c.is_whitespace();
        ended_word = word(c) || (spaced && ended_word);
        adjacent || matches!(c, '\'' | '"' | '#' | ';' | '\\')
    })
}

/// The parser does not know `select`, which has the grammar of `for`.
fn select_as_for(tokens: &[Token]) -> Option<Vec<Token>> {
    let mut changed = false;
    let mut previous: Option<&Token> = None;
    let rewritten = tokens
        .iter()
        .map(|token| {
            let starts_command = match previous {
                None | Some(Token::Operator(..)) => true,
                Some(Token::Word(word, _)) => matches!(word.as_str(), "do" | "then" | "else" | "{" | "!" | "time"),
            };
            previous = Some(token);
            match token {
                Token::Word(word, at) if word == "select" && starts_command => {
                    changed = true;
                    Token::Word("for".to_owned(), at.clone())
                }
                other => other.clone(),
            }
        })
        .collect();
    changed.then_some(rewritten)
}

impl Walk {
    fn code(&mut self, code: &str) -> Walked {
        if self.depth >= MAX_DEPTH {
            return Err(Unparsable::TooDeep);
        }
        self.depth += 1;
        let program = parse(code)?;
        program.complete_commands.iter().try_for_each(|list| self.list(list))?;
        self.depth -= 1;
        Ok(())
    }

    /// Runs `visit` as a child of the shell: what it does to the directory is forgotten.
    fn child(&mut self, visit: impl FnOnce(&mut Self) -> Walked) -> Walked {
        let place = self.place.clone();
        visit(self)?;
        self.place = place;
        Ok(())
    }

    fn list(&mut self, list: &ast::CompoundList) -> Walked {
        list.0.iter().try_for_each(|ast::CompoundListItem(and_or, separator)| match separator {
            ast::SeparatorOperator::Async => self.child(|walk| walk.and_or(and_or)),
            ast::SeparatorOperator::Sequence => self.and_or(and_or),
        })
    }

    fn and_or(&mut self, list: &ast::AndOrList) -> Walked {
        let mut seen = self.place.clone();
        self.pipeline(&list.first)?;
        for next in &list.additional {
            seen = seen.or(&self.place);
            let pipeline = match next {
                ast::AndOr::And(pipeline) => pipeline,
                ast::AndOr::Or(pipeline) => {
                    self.place = seen.clone();
                    pipeline
                }
            };
            self.pipeline(pipeline)?;
        }
        self.place = seen.or(&self.place);
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Walked {
        let before = self.place.clone();
        if let [only] = pipeline.seq.as_slice() {
            self.command(only)?;
        } else {
            for command in &pipeline.seq {
                self.place = before.clone();
                self.command(command)?;
            }
            // The last one is a child in some shells and not in others.
            self.place = before.or(&self.place);
        }
        if pipeline.bang {
            self.place = before.or(&self.place);
        }
        Ok(())
    }

    fn command(&mut self, command: &ast::Command) -> Walked {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.redirect_list(redirects.as_ref())?;
                self.compound(compound)
            }
            ast::Command::Function(function) => {
                // Its name may shadow any command, and it may run at any time.
                self.opaque = true;
                self.redirect_list(function.body.1.as_ref())?;
                self.child(|walk| walk.compound(&function.body.0))
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirect_list(redirects.as_ref())?;
                self.test(&test.expr)
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) -> Walked {
        use ast::CompoundCommand as C;
        match compound {
            // Shells without arithmetic commands read `((` as two subshells.
            C::Arithmetic(command) if reads_as_a_command(&command.expr.value) => Err(Unparsable::Ambiguous),
            C::Arithmetic(command) => self.arithmetic(&command.expr.value),
            C::BraceGroup(group) => self.list(&group.list),
            C::Subshell(subshell) => self.child(|walk| walk.list(&subshell.list)),
            C::Coprocess(coprocess) => self.child(|walk| walk.command(&coprocess.body)),
            C::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    let word = self.word(&value.value)?;
                    self.tainted |= word.exact().is_none();
                }
                self.assigned(&clause.variable_name);
                self.repeated(|walk| walk.list(&clause.body.list))
            }
            C::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&part.value)?;
                }
                self.repeated(|walk| walk.list(&clause.body.list))
            }
            C::WhileClause(clause) | C::UntilClause(clause) => self.repeated(|walk| {
                walk.list(&clause.0)?;
                walk.list(&clause.1.list)
            }),
            C::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.branch(&clause.then)?;
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().try_for_each(|condition| self.list(condition))?;
                    self.branch(&other.body)?;
                }
                Ok(())
            }
            C::CaseClause(clause) => {
                self.word(&clause.value.value)?;
                for item in &clause.cases {
                    item.patterns.iter().try_for_each(|pattern| self.word(&pattern.value).map(drop))?;
                    item.cmd.iter().try_for_each(|list| self.branch(list))?;
                }
                Ok(())
            }
        }
    }

    fn branch(&mut self, list: &ast::CompoundList) -> Walked {
        let before = self.place.clone();
        self.list(list)?;
        self.place = before.or(&self.place);
        Ok(())
    }

    /// A body that moves may start its next round anywhere.
    fn repeated(&mut self, visit: impl FnOnce(&mut Self) -> Walked) -> Walked {
        let (moves, from) = (self.moves, self.found.len());
        visit(self)?;
        if self.moves != moves {
            self.place = Place::UNKNOWN;
            self.found[from..].iter_mut().for_each(|command| command.place = Place::UNKNOWN);
        }
        Ok(())
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) -> Walked {
        use ast::ExtendedTestExpr as T;
        match test {
            T::And(left, right) | T::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            T::Not(inner) | T::Parenthesized(inner) => self.test(inner),
            T::UnaryTest(predicate, operand) => {
                // `-v` and `-R` evaluate a subscript in the name they are given.
                self.evaluates |= matches!(
                    predicate,
                    ast::UnaryPredicate::ShellVariableIsSetAndAssigned
                        | ast::UnaryPredicate::ShellVariableIsSetAndNameRef
                );
                self.word(&operand.value).map(drop)
            }
            T::BinaryTest(predicate, left, right) => {
                use ast::BinaryPredicate as B;
                self.evaluates |= matches!(
                    predicate,
                    B::ArithmeticEqualTo
                        | B::ArithmeticNotEqualTo
                        | B::ArithmeticLessThan
                        | B::ArithmeticLessThanOrEqualTo
                        | B::ArithmeticGreaterThan
                        | B::ArithmeticGreaterThanOrEqualTo
                );
                self.word(&left.value)?;
                self.regex(&right.value)
            }
        }
    }

    /// A regular expression's groups and end marks are not code; an expansion inside one is.
    fn regex(&mut self, text: &str) -> Walked {
        let unanchored = text.replace("$)", ")").replace("$|", "|");
        let unanchored = unanchored.trim_end_matches('$');
        if unanchored.contains(['$', '`', '<', '>']) {
            return self.word(text).map(drop);
        }
        self.word(&unanchored.replace(['(', ')'], "")).map(drop)
    }

    fn arithmetic(&mut self, expression: &str) -> Walked {
        // As the shell reads it: an expansion inside `$(( ))`.
        self.word(&format!("$(({expression}))")).map(drop)
    }

    fn word(&mut self, raw: &str) -> Result<Word, Unparsable> {
        self.reading(raw, Quoting::Plain)
    }

    fn reading(&mut self, raw: &str, quoting: Quoting) -> Result<Word, Unparsable> {
        let reading = word::read(raw, quoting)?;
        self.evaluates |= reading.evaluates;
        self.tainted |= reading.quoted_code;
        self.opaque |= reading.opaque;
        for code in &reading.scripts {
            self.child(|walk| walk.code(code))?;
        }
        Ok(reading.word)
    }

    fn assigned(&mut self, name: &str) {
        // `cd` looks there first.
        if name.eq_ignore_ascii_case("CDPATH") || matches!(name, "HOME" | "PWD" | "OLDPWD") {
            self.place = Place::UNKNOWN;
        }
    }

    fn redirect_list(&mut self, redirects: Option<&ast::RedirectList>) -> Walked {
        let Some(list) = redirects else { return Ok(()) };
        let mut command = SimpleCommand { place: self.place.clone(), ..SimpleCommand::default() };
        list.0.iter().try_for_each(|redirect| self.redirect(redirect, &mut command))?;
        if !command.redirects.is_empty() {
            self.found.push(command);
        }
        Ok(())
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, command: &mut SimpleCommand) -> Walked {
        use ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target};
        match redirect {
            ast::IoRedirect::File(_, kind, target) => {
                let write = !matches!(kind, Kind::Read | Kind::DuplicateInput);
                match target {
                    Target::Fd(_) => {}
                    Target::ProcessSubstitution(_, subshell) => self.child(|walk| walk.list(&subshell.list))?,
                    Target::Duplicate(word) if is_descriptor(&word.value) => {}
                    Target::Filename(word) | Target::Duplicate(word) => {
                        let target = self.word(&word.value)?;
                        command.redirects.push(Redirect { target, write });
                    }
                }
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                let target = self.word(&word.value)?;
                command.redirects.push(Redirect { target, write: true });
            }
            ast::IoRedirect::HereString(_, word) => self.word(&word.value).map(drop)?,
            ast::IoRedirect::HereDocument(_, document) => self.here_document(document)?,
        }
        Ok(())
    }

    fn here_document(&mut self, document: &ast::IoHereDocument) -> Walked {
        let tag = &document.here_end.value;
        let whole = tag.as_bytes();
        let bare = match whole {
            [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] | [b'\\', inner @ ..] => inner,
            _ => whole,
        };
        // Where the document ends depends on how a shell unquotes its tag; only the plain ones are certain.
        let plain =
            !bare.is_empty() && bare.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if !plain || (document.requires_expansion && document.doc.value.contains("\\\n")) {
            return Err(Unparsable::Ambiguous);
        }
        if document.requires_expansion && document.doc.value.contains(['$', '`']) {
            self.reading(&document.doc.value, Quoting::Quoted)?;
        }
        Ok(())
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) -> Walked {
        let mut command = SimpleCommand { place: self.place.clone(), ..SimpleCommand::default() };
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut command, true)?;
        }
        if let Some(name) = &simple.word_or_name {
            if simple.prefix.is_none() && RESERVED.contains(&name.value.as_str()) {
                return Err(Unparsable::Syntax(format!("`{}` where a command should stand", name.value)));
            }
            let word = self.word(&name.value)?;
            command.opaque = word.exact().is_none_or(|text| text.is_empty() || text.starts_with('='));
            command.words.push(word);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut command, false)?;
        }
        command.text = command.words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ");
        self.moved(&command);
        self.found.push(command);
        Ok(())
    }

    fn item(&mut self, item: &Item, command: &mut SimpleCommand, leading: bool) -> Walked {
        match item {
            Item::IoRedirect(redirect) => self.redirect(redirect, command)?,
            Item::Word(word) => {
                let word = self.word(&word.value)?;
                command.words.push(word);
            }
            Item::ProcessSubstitution(_, subshell) => {
                self.child(|walk| walk.list(&subshell.list))?;
                command.words.push(Word::unknown("<(…)"));
            }
            Item::AssignmentWord(assignment, word) => {
                let name = self.assignment(assignment)?;
                if leading {
                    command.assignments.push(Assignment { name, raw: word.value.clone() });
                } else {
                    command.words.push(match &assignment.value {
                        AssignmentValue::Scalar(_) => self.word(&word.value)?,
                        AssignmentValue::Array(_) => Word::unknown(&word.value),
                    });
                }
            }
        }
        Ok(())
    }

    fn assignment(&mut self, assignment: &ast::Assignment) -> Result<String, Unparsable> {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => {
                self.arithmetic(index)?;
                name.clone()
            }
        };
        self.assigned(&name);
        match &assignment.value {
            AssignmentValue::Scalar(value) => {
                let pure = value.value.starts_with("$((") && value.value.ends_with("))");
                let word = self.word(&value.value)?;
                self.tainted |= !pure && word.exact().is_none();
            }
            AssignmentValue::Array(elements) => {
                for (key, value) in elements {
                    key.iter().try_for_each(|key| self.arithmetic(&key.value))?;
                    self.word(&value.value)?;
                    self.tainted = true;
                }
            }
        }
        Ok(name)
    }

    /// Follows `cd`, and gives up on whatever else may change the directory or fill a variable.
    fn moved(&mut self, command: &SimpleCommand) {
        let Some((name, operands)) = command.words.split_first() else { return };
        let has = |flags: &[&str]| operands.iter().any(|word| flags.contains(&word.text.as_str()));
        match name.text.as_str() {
            "cd" if name.certainty == Certainty::Exact => {
                self.moves += 1;
                self.place = self.place.after_cd(operands);
            }
            "read" | "mapfile" | "readarray" | "getopts" => {
                self.tainted = true;
                // A name to be filled may have a subscript, which is evaluated.
                self.evaluates |= operands.iter().any(|word| word.text.contains('['));
            }
            "printf" => {
                let names = operands.first().is_some_and(|word| word.text.starts_with("-v"));
                self.tainted |= names;
                self.evaluates |= names;
            }
            "wait" => self.evaluates |= has(&["-p"]),
            "let" | "unset" => self.evaluates = true,
            "declare" | "typeset" | "local" | "export" | "readonly" => {
                self.tainted |= operands.iter().any(|word| word.exact().is_none());
                self.evaluates |= has(&["-i", "-n"]);
            }
            "test" | "[" => self.evaluates |= has(&["-v", "-R"]),
            text => {
                let builtin = matches!(text, "pushd" | "popd" | "chdir" | "eval" | "source" | "." | "exec" | "trap");
                let wrapped = matches!(text, "command" | "builtin")
                    && (has(&["cd", "pushd", "popd", "eval", "source", "."])
                        || operands.iter().any(|word| word.exact().is_none()));
                if builtin || wrapped || command.opaque {
                    self.moves += 1;
                    self.place = Place::UNKNOWN;
                }
            }
        }
    }
}

fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit())
}
