"""Whether answers are what the document promises.

    conforms.py DOCUMENT ANSWERS

DOCUMENT is an OpenAPI 3.1 file; ANSWERS an array of {"path", "method", "status", "body"}. Prints
each that the document does not have; ends with 1 then. Every path of the document must be among
them.
"""

import json
import sys

import jsonschema


def content_of(document, answer):
    operation = document["paths"][answer["path"]][answer["method"]]
    responses = operation["responses"]
    response = responses.get(str(answer["status"])) or responses["default"]
    return response["content"]


def mistakes_of(document, answer):
    try:
        content = content_of(document, answer)
    except KeyError as missing:
        yield f"the document has no {missing}"
        return
    if "application/json" not in content:
        return  # a page, or a file, of which a schema says nothing
    schema = content["application/json"]["schema"]
    resolver = jsonschema.RefResolver.from_schema(document)
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    for error in validator.iter_errors(answer["body"]):
        yield f"{error.json_path}: {error.message}"


def main():
    with open(sys.argv[1]) as document_file, open(sys.argv[2]) as answers_file:
        document, answers = json.load(document_file), json.load(answers_file)
    for name, schema in document["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
    mistakes = []
    for answer in answers:
        where = f"{answer['method']} {answer['path']} {answer['status']}"
        mistakes += [f"{where}: {each}" for each in mistakes_of(document, answer)]
    asked = {(answer["path"], answer["method"]) for answer in answers}
    for path, operations in document["paths"].items():
        for method in operations:
            if (path, method) not in asked:
                mistakes.append(f"{method} {path} was not asked")
    print("\n".join(mistakes))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
