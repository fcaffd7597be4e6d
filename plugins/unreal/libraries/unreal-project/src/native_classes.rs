//! A built-in table of native engine classes that Blueprints often derive from, each with its parent or another
//! ancestor, up to `Object`. It follows Unreal Engine 5; earlier versions differ in places.

use std::{collections::HashMap, sync::LazyLock};

/// Parents with their children, in lower case.
const CHILDREN: &[(&str, &str)] = &[
    (
        "actor",
        "ambientsound atmosphericfog brush cableactor cameraactor controller decalactor docpoint \
         editorutilityactor emitter fieldsystemactor gameplayabilitytargetactor \
         gameplayabilityworldreticle gameplaycuenotify_actor gameplaydebuggercategoryreplicator \
         geometrycollectionactor hud info landscapeproxy levelinstance levelscriptactor \
         levelsequenceactor light lightmassportal lightweightinstancemanager \
         materialinstanceactor matineeactor navigationdata navigationobjectbase navlinkproxy \
         niagaraactor note onlinebeacon partitionactor pawn playercameramanager reflectioncapture \
         rigidbodybase scenecapture skeletalmeshactor splinemeshactor staticmeshactor targetpoint \
         textrenderactor triggerbase vectorfieldvolume waterbody",
    ),
    (
        "actorcomponent",
        "actorsequencecomponent aiperceptioncomponent aiperceptionstimulisourcecomponent \
         applicationlifecyclecomponent blackboardcomponent braincomponent gameframeworkcomponent \
         gameplaytaskscomponent inputcomponent movementcomponent navigationinvokercomponent \
         pathfollowingcomponent pawnactioncomponent pawnnoiseemittercomponent \
         pawnsensingcomponent physicshandlecomponent platformeventscomponent scenecomponent \
         timelinecomponent",
    ),
    ("aicontroller", "detourcrowdaicontroller gridpathaicontroller"),
    ("animationasset", "animsequencebase blendspace poseasset"),
    ("animcompositebase", "animcomposite animmontage"),
    ("animsequencebase", "animcompositebase animsequence animstreamable"),
    ("basedynamicmeshcomponent", "dynamicmeshcomponent"),
    ("blueprintasyncactionbase", "cancellableasyncaction"),
    ("braincomponent", "behaviortreecomponent statetreecomponent"),
    ("brush", "volume"),
    ("btauxiliarynode", "btdecorator btservice"),
    ("btdecorator", "btdecorator_blackboardbase btdecorator_blueprintbase"),
    ("btnode", "btauxiliarynode btcompositenode bttasknode"),
    ("btservice", "btservice_blackboardbase btservice_blueprintbase"),
    ("bttasknode", "bttask_blackboardbase bttask_blueprintbase"),
    ("cameraactor", "cinecameraactor"),
    ("cameracomponent", "cinecameracomponent"),
    ("camerashakebase", "legacycamerashake matineecamerashake"),
    ("chaosvehiclemovementcomponent", "chaoswheeledvehiclemovementcomponent"),
    ("character", "eqstestingpawn"),
    ("commonuserwidget", "commonactivatablewidget commonbuttonbase"),
    (
        "contentwidget",
        "backgroundblur border button checkbox invalidationbox menuanchor namedslot retainerbox \
         safezone scalebox sizebox",
    ),
    ("controller", "aicontroller playercontroller"),
    ("curvebase", "curvefloat curvelinearcolor curvevector"),
    ("dataasset", "inputaction inputmappingcontext primarydataasset"),
    ("defaultpawn", "spectatorpawn"),
    ("dynamicsubsystem", "editorsubsystem enginesubsystem"),
    ("envquerycontext", "envquerycontext_blueprintbase"),
    ("envquerynode", "envquerygenerator envquerytest"),
    ("fxsystemcomponent", "niagaracomponent particlesystemcomponent"),
    (
        "gameframeworkcomponent",
        "controllercomponent gamestatecomponent pawncomponent playerstatecomponent",
    ),
    ("gamemodebase", "gamemode"),
    ("gameplaytask", "abilitytask aitask"),
    ("gameplaytaskscomponent", "abilitysystemcomponent"),
    ("gamestatebase", "gamestate"),
    (
        "info",
        "exponentialheightfog gamemodebase gamenetworkmanager gameplaydebuggerplayermanager \
         gamesession gamestatebase playerstate skylight volumetriccloud worlddatalayers \
         worldsettings",
    ),
    ("inputcomponent", "enhancedinputcomponent"),
    ("instancedstaticmeshcomponent", "hierarchicalinstancedstaticmeshcomponent"),
    ("landscapeproxy", "landscape landscapestreamingproxy"),
    ("levelinstance", "packedlevelactor"),
    ("light", "directionallight pointlight rectlight spotlight"),
    ("lightcomponent", "directionallightcomponent locallightcomponent"),
    ("lightcomponentbase", "lightcomponent skylightcomponent"),
    ("listview", "tileview treeview"),
    ("listviewbase", "listview"),
    ("locallightcomponent", "pointlightcomponent rectlightcomponent"),
    ("materialinstance", "materialinstanceconstant materialinstancedynamic"),
    ("materialinterface", "material materialinstance"),
    (
        "meshcomponent",
        "basedynamicmeshcomponent cablecomponent geometrycollectioncomponent \
         proceduralmeshcomponent skinnedmeshcomponent staticmeshcomponent widgetcomponent",
    ),
    (
        "movementcomponent",
        "interptomovementcomponent navmovementcomponent projectilemovementcomponent \
         rotatingmovementcomponent",
    ),
    ("navarea", "navarea_default navarea_null navarea_obstacle"),
    ("navigationdata", "recastnavmesh"),
    ("navigationobjectbase", "playerstart"),
    ("navmovementcomponent", "pawnmovementcomponent"),
    (
        "object",
        "actor actorcomponent aisense aisenseconfig animationasset animinstance animnotify \
         animnotifystate assetuserdata behaviortree blackboarddata blueprintasyncactionbase \
         blueprintfunctionlibrary btnode cameramodifier camerashakebase camerashakepattern \
         cheatmanager curvebase damagetype dataasset developersettings editorutilityobject \
         envquery envquerycontext envquerynode factory gameinstance \
         gameplayability gameplaycuenotify_static gameplayeffect gameplaytask gameusersettings \
         gameviewportclient inputmodifier inputtrigger interface level levelsequencedirector \
         localmessage massentitytraitbase materialinterface moviescenesequence navarea \
         navigationqueryfilter navlinkdefinition objectlibrary onlinesession physicalmaterial \
         player playerinput savegame skeleton soundbase statetreeconditionblueprintbase \
         statetreeevaluatorblueprintbase statetreeschema statetreetaskblueprintbase \
         streamablerenderasset subsystem visual world",
    ),
    (
        "panelwidget",
        "canvaspanel contentwidget gridpanel horizontalbox overlay scrollbox stackbox \
         uniformgridpanel verticalbox widgetswitcher wrapbox",
    ),
    ("partitionactor", "instancedfoliageactor"),
    ("pawn", "character defaultpawn wheeledvehiclepawn"),
    (
        "pawnmovementcomponent",
        "chaosvehiclemovementcomponent charactermovementcomponent floatingpawnmovement \
         wheeledvehiclemovementcomponent",
    ),
    ("physicsvolume", "defaultphysicsvolume killzvolume paincausingvolume"),
    ("player", "localplayer netconnection"),
    ("playercontroller", "debugcameracontroller"),
    ("pointlightcomponent", "spotlightcomponent"),
    ("primarydataasset", "gamefeaturedata primaryassetlabel"),
    (
        "primitivecomponent",
        "arrowcomponent billboardcomponent brushcomponent fxsystemcomponent landscapecomponent \
         linebatchcomponent meshcomponent motioncontrollercomponent shapecomponent \
         splinecomponent textrendercomponent vectorfieldcomponent",
    ),
    ("reflectioncapture", "boxreflectioncapture planereflectioncapture spherereflectioncapture"),
    ("rigidbodybase", "physicsconstraintactor physicsthruster radialforceactor"),
    ("scenecapture", "planarreflection scenecapture2d scenecapturecube"),
    (
        "scenecomponent",
        "audiocomponent cameracomponent childactorcomponent decalcomponent \
         exponentialheightfogcomponent forcefeedbackcomponent lightcomponentbase \
         physicsconstraintcomponent physicsthrustercomponent postprocesscomponent \
         primitivecomponent radialforcecomponent reflectioncapturecomponent scenecapturecomponent \
         skyatmospherecomponent springarmcomponent stereolayercomponent volumetriccloudcomponent \
         winddirectionalsourcecomponent",
    ),
    ("shapecomponent", "boxcomponent capsulecomponent spherecomponent"),
    ("skinnedasset", "skeletalmesh"),
    ("skinnedmeshcomponent", "poseablemeshcomponent skeletalmeshcomponent"),
    ("soundbase", "soundcue soundwave"),
    ("soundwave", "soundwaveprocedural"),
    ("soundwaveprocedural", "metasoundsource"),
    ("spotlight", "generatedmesharealight"),
    ("staticmeshcomponent", "instancedstaticmeshcomponent splinemeshcomponent"),
    ("streamablerenderasset", "skinnedasset staticmesh texture"),
    ("subsystem", "dynamicsubsystem gameinstancesubsystem localplayersubsystem worldsubsystem"),
    ("textblock", "commontextblock"),
    ("textlayoutwidget", "multilineeditabletext multilineeditabletextbox richtextblock textblock"),
    ("texture", "texture2d texturecube texturerendertarget volumetexture"),
    ("texturerendertarget", "texturerendertarget2d texturerendertargetcube"),
    ("triggerbase", "triggerbox triggercapsule triggersphere"),
    ("userwidget", "commonuserwidget editorutilitywidget"),
    ("visual", "widget"),
    (
        "volume",
        "audiovolume blockingvolume culldistancevolume hierarchicallodvolume levelstreamingvolume \
         lightmassimportancevolume meshmergecullingvolume navmeshboundsvolume navmodifiervolume \
         physicsvolume postprocessvolume precomputedvisibilityvolume triggervolume",
    ),
    (
        "widget",
        "circularthrobber comboboxkey comboboxstring editabletext expandablearea image \
         inputkeyselector nativewidgethost panelwidget progressbar scrollbar slider spacer \
         spinbox listviewbase textlayoutwidget throbber userwidget viewport",
    ),
    ("worldsubsystem", "tickableworldsubsystem"),
];

/// The parent, or another ancestor, of each class, from the table above.
static PARENTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let pairs = CHILDREN.iter().flat_map(|(parent, children)| {
        children.split_ascii_whitespace().map(move |child| (child, *parent))
    });
    pairs.collect()
});

/// The path of the parent, or of another ancestor, of the native class `name`; both are in lower
/// case. The module in the path is a placeholder (`engine`, or `coreuobject` for `Object`): compare
/// only the name. `None` if the table does not have the class, or the class is `Object`.
pub fn parent(name: &str) -> Option<String> {
    let parent = PARENTS.get(name)?;
    let module = if *parent == "object" { "coreuobject" } else { "engine" };
    Some(format!("/script/{module}.{parent}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_end_at_object() {
        let mut seen = HashSet::new();
        for child in CHILDREN.iter().flat_map(|(_, children)| children.split_ascii_whitespace()) {
            assert!(seen.insert(child), "{child} is there twice");
            let mut at = child.to_owned();
            for _ in 0..20 {
                let Some(parent) = parent(&at) else { break };
                at = parent.rsplit('.').next().expect("it has a name").to_owned();
            }
            assert_eq!(at, "object", "{child}");
        }
    }
}
