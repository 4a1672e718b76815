use super::*;

fn load_text(
    text: &str,
    variables: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> Result<Loaded, Problem> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.toml");
    std::fs::write(&path, text).unwrap();
    let environment: Environment = variables.iter().copied().collect();
    let flags = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    load(&FileAt::Named(path), &environment, &flags)
}

fn problem(text: &str, variables: &[(&str, &str)]) -> String {
    load_text(text, variables, &[]).unwrap_err().to_string()
}

// S50
#[test]
fn flags_win_over_variables_over_the_file_over_defaults() {
    let text = "[server]\nlisten = \"127.0.0.1:1\"\npublic_metrics = true\n[limits]\nmax_page_size = 7\n";
    let variables = [("WARREN_SERVER_LISTEN", "127.0.0.1:2"), ("WARREN_LIMITS_MAX_PAGE_SIZE", "8")];
    let loaded = load_text(text, &variables, &[("server.listen", "127.0.0.1:3")]).unwrap();
    assert_eq!(loaded.config.server.listen.port(), 3);
    assert_eq!(loaded.config.limits.max_page_size, 8);
    assert!(loaded.config.server.public_metrics);
    assert_eq!(loaded.origins["server.listen"], Origin::Flag("--listen"));
    assert_eq!(
        loaded.origins["limits.max_page_size"],
        Origin::Variable("WARREN_LIMITS_MAX_PAGE_SIZE".into())
    );
    assert!(matches!(&loaded.origins["server.public_metrics"], Origin::File { line: 3, .. }));
    assert_eq!(loaded.origins["log.filter"], Origin::Default);
}

// S50
#[test]
fn an_unknown_key_is_an_error_with_its_line_and_the_nearest_name() {
    let told = problem("[server]\n\nlisen = \"127.0.0.1:1\"\n", &[]);
    assert!(
        told.contains("warren.toml:3: unknown key `server.lisen`; did you mean `server.listen`?"),
        "{told}"
    );
    let told = problem("[limts]\nmax_page_size = 1\n", &[]);
    assert!(told.contains("warren.toml:1: unknown key `limts`; did you mean `limits`?"), "{told}");
    let told = problem("[server]\nmax_page_size = 1\n", &[]);
    assert!(told.contains("did you mean `limits.max_page_size`?"), "{told}");
    let told = problem("[server]\nwallpaper = 1\n", &[]);
    assert!(told.contains("here are known: allowed_hosts, allowed_origins, listen"), "{told}");
}

// S50
#[test]
fn wrong_types_and_broken_files_name_their_place() {
    let told = problem("[limits]\nmax_page_size = \"many\"\n", &[]);
    assert!(told.contains("limits.max_page_size") && told.contains("warren.toml:2"), "{told}");
    let told = problem("[server]\nallowed_hosts = [\"a\", 5]\n", &[]);
    assert!(told.contains("server.allowed_hosts[1]") && told.contains("warren.toml:2"), "{told}");
    assert!(problem("[server\n", &[]).contains("warren.toml:1:"));
    assert!(problem("server = 5\n", &[]).contains("`server` is a section"));
    assert!(
        problem("", &[("WARREN_LIMITS_MAX_PAGE_SIZE", "x")]).contains("variable WARREN_LIMITS_MAX_PAGE_SIZE")
    );
    assert!(
        problem("", &[("WARREN_SERVER_LISTEN", "here")])
            .contains("server.listen (variable WARREN_SERVER_LISTEN)")
    );
}

// S50
#[test]
fn a_misspelt_variable_of_a_section_is_an_error_and_others_are_only_mentioned() {
    let told = problem("", &[("WARREN_SERVER_LISTN", "127.0.0.1:1")]);
    assert!(told.contains("WARREN_SERVER_LISTN; did you mean WARREN_SERVER_LISTEN?"), "{told}");
    let loaded = load_text("", &[("WARREN_TOKN", "x"), ("WARREN_URL", "x"), ("PATH", "x")], &[]).unwrap();
    assert_eq!(
        loaded.warnings,
        ["the variable WARREN_TOKN is not one of Warren's; did you mean WARREN_TOKEN?"]
    );
}

// S50
#[test]
fn a_server_for_other_machines_must_say_by_which_names() {
    let open = "[server]\nlisten = \"0.0.0.0:7878\"\n";
    assert!(problem(open, &[]).contains("`server.allowed_hosts` must name"));
    let loaded =
        load_text(open, &[("WARREN_SERVER_ALLOWED_HOSTS", "warren.example.com, 10.0.0.5:7878")], &[])
            .unwrap();
    assert_eq!(loaded.config.server.allowed_hosts, ["warren.example.com", "10.0.0.5:7878"]);
    assert!(problem("[server]\nallowed_hosts = [\"http://a/b\"]\n", &[]).contains("not a host name"));
}

// S50
#[test]
fn values_that_make_no_sense_are_refused_without_showing_a_password() {
    assert!(problem("[limits]\nmax_connections = 0\n", &[]).contains("limits.max_connections"));
    let told = problem("[database]\nurl = \"mysql://me:hunter2@db\"\n", &[]);
    assert!(told.contains("database.url") && !told.contains("hunter2"), "{told}");
}

// S50
#[test]
fn a_missing_file_is_fine_unless_it_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.toml");
    let environment = Environment::default();
    let loaded = load(&FileAt::Usual(path.clone()), &environment, &Overrides::new()).unwrap();
    assert_eq!((loaded.config, loaded.file), (Config::default(), None));
    assert!(load(&FileAt::Named(path), &environment, &Overrides::new()).is_err());
}
