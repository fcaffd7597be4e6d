//! Synonyms of the words in names and descriptions of tools: users say `throw away`, tools say `delete`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::words::words;

/// Groups of synonyms, one group per line. The words of a group mean about the same in descriptions of tools.
const GROUPS: &str = "
    create make new start set
    generate produce create
    add append insert attach put note post
    delete remove drop erase forget throw destroy discard
    uninstall remove
    update change edit modify alter replace
    patch update
    show get read view display open retrieve load
    get fetch retrieve find
    tell describe get
    detail details describe info
    list enumerate overview
    which list
    find search look lookup locate
    query ask find select lookup
    folder directory subfolder
    picture image photo screenshot
    bug issue ticket defect
    mr merge
    pr pull
    pr request
    copy fork duplicate clone
    text content
    docs documentation manual
    mean explain describe documentation
    guideline rule practice convention standard
    send post publish
    reply answer respond
    run execute evaluate invoke
    sql query
    select query
    check validate verify right valid correct
    log history
    event log
    rename move
    another rename move switch
    write save store
    result output
    export save dump
    upload attach
    size big large space disk storage
    web internet online website
    site website web url map
    page url
    http network
    https url navigate
    several many multiple
    once multiple simultaneously
    waiting pending open list
    function code source program
    long far duration distance
    airport office place destination
    date update
    bring get update
    cluster context
    click press tap
    press hit push
    select choose pick
    visit navigate goto open go
    error failure problem broken
    stop end halt close cancel
    finished done complete status
    remember memory knowledge observation entity
    know knowledge graph search
    say said message history
    today recent history
    day daily schedule recurring monitor
    fact observation
    person entity node
    count many
    average aggregate sum group
    sum add plus total
    fast faster index performance
    slow performance trace explain
    dialog alert popup popped confirm
    dropdown option
    hover mouse pointer
    resize size window
    mode media scheme
    emulate throttle simulate slow
    video screencast record
    leak memory heap heapsnapshot
    coordinates geocode latitude longitude
    drive route directions travel
    restaurant shop place business nearby
    high height elevation altitude
    unstage reset
    approve review
    reviewer review comment
    touch changed
    ci checks status
    replica scale
    revision rollout version
    switch checkout context
    cluster kubernetes kubectl k8s
    maintenance cordon drain
    container pod
    shell command exec
    scrape crawl extract fetch
    watch monitor
    pdf file document parse
    turn convert parse transform
    paper arxiv research
    cite citation related
    unused orphan
    uses used references referencer
    derive hierarchy inherit
    compile build
    diff difference changes compare
    app application
    version release revision
    convert migrate conversion migration
    deprecated lint
    zip compress gzip archive
    variable env environment
    repeat echo
    account user member people profile
    who user
    email profile
    workspace project
    field column property schema
    type schema
    row record entry item query
    database data
    paragraph block
    parent move
    think thought reason
    time clock timezone
    commit revision
    remote repository repo
    undo revert reset unstage
    put move
    elsewhere move
    password input fill
    login input connect
    field input form
    reader accessibility snapshot
    looks snapshot
    config configuration create
    logout disconnect
    rename update title
    need depend dependencies require
    texture mesh material asset
    detail event describe
    md markdown glob pattern
    every recursive glob
    modify working change
    framework info
    properties reference members
    repo repository
";

/// The stems of the synonyms of a stem.
pub(crate) fn of(stem: &str) -> &'static [String] {
    static ALL: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(read_groups);
    ALL.get(stem).map_or(&[], Vec::as_slice)
}

fn read_groups() -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for group in GROUPS.lines() {
        let group: BTreeSet<String> = words(group).into_iter().collect();
        for stem in &group {
            let synonyms: &mut Vec<String> = all.entry(stem.clone()).or_default();
            synonyms.extend(group.iter().filter(|other| *other != stem).cloned());
        }
    }
    all
}
