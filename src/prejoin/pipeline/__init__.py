"""The commands as functions: read a document, check it, design, prove, build and query it.

    document = read_document("access-patterns.md")          # document: reading, checking and writing documents
    check_document(document)                                 # all diagnostics, without loading the designer
    result = design_table(document, progress=progress)       # design: solve, explain, price, check and prove
    write_design(result, design_target(path))                # design_document: table-design.md
    plan = build_project("access-patterns.md")               # build: render, test and compare with the files on disk
    plan.write()                                             # build_plan: write the files, and the record of the build
    run_pattern(document, "AP-001", {"user_id": "42"})       # query: run one access pattern

Nothing in this package prints, asks or exits, and nothing imports click or rich: that is `prejoin.cli`. Errors are
`PipelineError`s, which carry diagnostics. Long steps report to a `Progress`.
"""
